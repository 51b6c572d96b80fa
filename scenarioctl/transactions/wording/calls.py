"""A call in one sentence, for the person who is about to sign it.

Only what is understood whole is worded; a call that is not is named, and the sentence says so.  Rights come first, then
what moves money; neither is ever left out.  To word another call, add a row to one of the tables that KINDS joins.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.model.calls import Call
from scenarioctl.transactions.rights import RIGHTS
from scenarioctl.transactions.wording import (
    contracts,
    cross_chain_calls,
    nested_calls,
    ordinary_calls,
    transfers,
)
from scenarioctl.transactions.wording.nested_calls import say_named
from scenarioctl.transactions.wording.phrases import (
    MISFITS,
    Danger,
    GrantedRight,
    Phrases,
    Reading,
    Tables,
    Words,
)
from scenarioctl.transactions.wording.sentences import fill, given_to, rows

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.extrinsic import Extrinsic


def say_call(call: Call, chain: "Chain", assets: "Assets", tables: Tables) -> str:
    """Return what *call* does on *chain*: `sells 2 DOT for at least 900 HDX on hydraDx`.

    *tables* finds the runtimes by which encoded calls inside it are read.
    """
    return _say(_phrases(chain, assets, tables), call)


def read_rights(call: Call, chain: "Chain", assets: "Assets", tables: Tables) -> Reading:
    """Return the rights that *call* gives away, and what in it is not understood."""
    phrases = _phrases(chain, assets, tables)
    _say(phrases, call)
    return phrases.reading


def say_extrinsic(extrinsic: "Extrinsic", chain: "Chain", assets: "Assets", tables: Tables) -> str:
    """Return what *extrinsic* does, and what its signer pays beside the plain fee."""
    said = say_call(extrinsic.call, chain, assets, tables)
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
    return Phrases(chain=chain, place=chain, here=chain.name, assets=assets, tables=tables, say=_say)


def _say(phrases: Phrases, call: Call) -> str:
    reading, key = phrases.reading, (call.pallet, call.method)
    if phrases.too_deep:
        return f"calls {call.pallet}.{call.method} on {phrases.here}, with more inside that is not read"
    words, right = WORDS.get(key), RIGHTS.get(key)
    said = []
    try:
        if right is not None and (given := given_to(right, call.args)) is not None:
            reading.note(Danger.RIGHT)
            said.append(f"{fill(phrases, right, call.args)}, on {phrases.here}")
            # Something that names no account is for nobody known.
            accounts = frozenset(who for value in given for who in _accounts_in(value) or [b""])
            reading.grants(GrantedRight(sentence=said[0], accounts=accounts))
        if words is not None and (not said or _DANGERS[key] is Danger.MONEY):
            reading.note(_DANGERS[key])
            said.append(words(phrases, call.args))
    except MISFITS:
        # An argument of another shape than the one that is worded: say no more than is sure.
        said.append(say_named(phrases, call))
    return ", and ".join(said) or say_named(phrases, call)


def _accounts_in(value: Any) -> list[bytes]:
    """Return what is named in a field that holds accounts."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [who for item in value for who in _accounts_in(item)]
    return [value] if isinstance(value, bytes) else []


_REMARKS = rows({"System.remark|remark_with_event": "writes {text:remark} to the history of {here}"})
#: The tables of words, with how dangerous their calls are; what holds other calls is as dangerous as they are.
KINDS: tuple[tuple[Danger, Mapping[tuple[str, str], Words]], ...] = (
    (Danger.MONEY, transfers.WORDS),
    (Danger.MONEY, cross_chain_calls.WORDS),
    (Danger.MONEY, ordinary_calls.MONEY),
    (Danger.OTHER, ordinary_calls.OTHER),
    (Danger.OTHER, nested_calls.STORED),
    (Danger.OTHER, contracts.WORDS),
    (Danger.OTHER, nested_calls.WORDS),
    (Danger.REMARK, _REMARKS),
)
_DANGERS = {key: danger for danger, table in KINDS for key in table}
#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {key: words for _, table in KINDS for key, words in table.items()}
