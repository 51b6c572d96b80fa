"""A call in one sentence, for the person who is about to sign it.

Only what is understood whole is worded; a call that is not is named, and the sentence says so.  Rights come first, then
what moves money; neither is ever left out.  To word another call, add a row to `../calls.json`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scenarioctl.model.calls import Call
from scenarioctl.transactions.call_kinds import Danger, kind_of_call
from scenarioctl.transactions.inner_calls import held_values
from scenarioctl.transactions.wording import batches, sentences, unusual_calls
from scenarioctl.transactions.wording.phrases import (
    MISFITS,
    CallStory,
    GrantedRight,
    Phrases,
    Tables,
    Words,
)
from scenarioctl.transactions.wording.sentences import fill, given_to, sentence

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.extrinsic import Extrinsic


def tell_call(call: Call, chain: "Chain", assets: "Assets", tables: Tables) -> CallStory:
    """Return what *call* does on *chain*: `sells 2 DOT for at least 900 HDX on hydraDx`, and what else there is to know.

    *tables* finds the runtimes by which encoded calls inside it are read.
    """
    phrases = _phrases(chain, assets, tables)
    phrases.story.sentence = _say(phrases, call)
    return phrases.story


def say_extrinsic(extrinsic: "Extrinsic", chain: "Chain", assets: "Assets", tables: Tables) -> str:
    """Return what *extrinsic* does, and what its signer pays beside the plain fee."""
    said = tell_call(extrinsic.call, chain, assets, tables).sentence
    return ", with ".join((said, *say_payments(extrinsic.extensions, chain, assets)))


def say_payments(extensions: Mapping[str, Any], chain: "Chain", assets: "Assets") -> tuple[str, ...]:
    """Return what *extensions* have the signer pay beside the plain fee: a tip, or the fee in another asset."""
    tip, paid_in = read_payments(extensions, chain, assets)
    said = (tip and f"a tip of {tip}", paid_in and f"its fee paid in {paid_in}")
    return tuple(filter(None, said))


def read_payments(extensions: Mapping[str, Any], chain: "Chain", assets: "Assets") -> tuple[str, str]:
    """Return the tip in *extensions*, and the asset that pays the fee in place of the native one; each empty for none."""
    phrases = _phrases(chain, assets, lambda _: None)
    tip_said = asset_said = ""
    for identifier in ("ChargeTransactionPayment", "ChargeAssetTxPayment"):
        value = extensions.get(identifier)
        tip = value.get("tip") if isinstance(value, Mapping) else value
        if isinstance(tip, int) and tip:
            tip_said = phrases.native(tip)
        paid_in = value.get("asset_id") if isinstance(value, Mapping) else None
        if paid_in is not None:
            asset_said = phrases.asset(paid_in)
    return tip_said, asset_said


def _phrases(chain: "Chain", assets: "Assets", tables: Tables) -> Phrases:
    return Phrases(
        chain=chain, place=chain, here=chain.name, assets=assets, tables=tables, say=_say, parts=_PARTS
    )


def _say(phrases: Phrases, call: Call) -> str:
    story, kind = phrases.story, kind_of_call(call)
    if phrases.too_deep:
        return f"calls {call.pallet}.{call.method} on {phrases.here}, with more inside that is not read"
    said = []
    try:
        if kind.right and (given := given_to(kind.right, call.args)) is not None:
            story.note(Danger.RIGHT)
            said.append(fill(phrases, kind.right, call.args))
            # Something that names no account is for nobody known.
            accounts = frozenset(who for value in given for who in _accounts_in(value) or [b""])
            story.grants(GrantedRight(sentence=said[0], accounts=accounts))
        if kind.words and (not said or kind.danger is Danger.MONEY):
            story.note(kind.danger)
            said.append(sentence(*kind.words)(phrases, call.args))
    except MISFITS:
        # An argument of another shape than the one that is worded: say no more than is sure.
        said.append(_say_named(phrases, call))
    return ", and ".join(said) or _say_named(phrases, call)


def _accounts_in(value: Any) -> list[bytes]:
    """Return what is named in a field that holds accounts."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [who for item in value for who in _accounts_in(item)]
    return [value] if isinstance(value, bytes) else []


def _say_named(phrases: Phrases, call: Call) -> str:
    """Return the name of a call without words of its own, and what the calls and programs in its arguments do."""
    name = f"{call.pallet}.{call.method}"
    phrases.story.misses(f"what {name} does is not known here")
    said: list[str] = []
    read: set[str] = set()
    for held in held_values(call, phrases.tables(phrases.chain)):
        with suppress(*MISFITS):
            # It isn't known where a program runs.
            elsewhere = held.kind == "VersionedXcm"
            around = replace(phrases, place=None, here="another place") if elsewhere else phrases
            said.append(_HELD[held.kind](around, {"value": held.value}))
            read.add(held.field)
    unread = f": its {'other ' if read else ''}arguments are not shown" if set(call.args) - read else ""
    named = f"calls {name} on {phrases.here} (not understood{unread})"
    return f"{named} with {' and '.join(said)}" if said else named


#: What a call holds: the kind of its type -> the words for its value.
_HELD: Mapping[str, Words] = {
    "RuntimeCall": sentence("the call {call:value}"),
    "Bounded": sentence("the call {encoded:value.Inline}", "{hash:value.*.hash}"),
    "VersionedXcm": sentence("the XCM program {program:value}"),
}


#: How each part of a text is written.
_PARTS: Mapping[str, Callable[..., str]] = {
    **sentences.PARTS,
    **unusual_calls.PARTS,
    "calls": batches.say_calls,
}
