"""A call in one sentence, for the person who is about to sign it.

Only what is understood whole is worded; a call that is not is named, and the sentence says that its arguments are not
shown.  Calls inside others are said too, as far as `Phrases.budget` goes; what is left then is counted.  To word another
call, add a row to the WORDS of `transfers.py`, `nested_calls.py` or `xcm_calls.py`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import shorten
from scenarioctl.model.calls import Call
from scenarioctl.transactions.wording import nested_calls, transfers, xcm_calls
from scenarioctl.transactions.wording.nested_calls import say_named
from scenarioctl.transactions.wording.phrases import MISFITS, NoPhrase, Phrases, Tables, Words

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.extrinsic import Extrinsic


def say_call(call: Call, chain: "Chain", assets: "Assets", tables: Tables) -> str:
    """Return what *call* does on *chain*: `sells 2 DOT for at least 900 HDX on hydraDx`.

    *tables* finds the runtimes by which encoded calls inside it are read.
    """
    return _say(Phrases(chain, assets, tables, _say), call)


def say_extrinsic(extrinsic: "Extrinsic", chain: "Chain", assets: "Assets", tables: Tables) -> str:
    """Return what *extrinsic* does, and what its signer pays beside the plain fee."""
    said = say_call(extrinsic.call, chain, assets, tables)
    return ", with ".join((said, *say_payments(extrinsic.extensions, chain, assets)))


def say_payments(extensions: Mapping[str, Any], chain: "Chain", assets: "Assets") -> tuple[str, ...]:
    """Return what *extensions* have the signer pay beside the plain fee: a tip, or the fee in another asset."""
    phrases = Phrases(chain, assets, lambda _: None, _say)
    said = []
    for identifier in ("ChargeTransactionPayment", "ChargeAssetTxPayment"):
        value = extensions.get(identifier)
        tip = value.get("tip") if isinstance(value, Mapping) else value
        if isinstance(tip, int) and tip:
            said.append(f"a tip of {phrases.native(tip)}")
        paid_in = value.get("asset_id") if isinstance(value, Mapping) else None
        if paid_in is not None:
            said.append(f"its fee paid in {_fee_asset(phrases, paid_in)}")
    return tuple(said)


def _fee_asset(phrases: Phrases, identity: Any) -> str:
    try:
        return phrases.asset(identity)
    except NoPhrase:
        return "an unknown asset"


def _say(phrases: Phrases, call: Call) -> str:
    words = WORDS.get((call.pallet, call.method))
    left = phrases.budget.left
    if words is not None:
        try:
            return words(phrases, call.args)
        except MISFITS:
            # An argument of another shape than the one that is worded: say no more than is sure.
            phrases.budget.left = left
    return say_named(phrases, call)


def _remark(phrases: Phrases, args: Mapping[str, Any]) -> str:
    text = args["remark"]
    shown = shorten(text.decode("utf-8"), 80) if text else "nothing"
    return f"writes {shown} to the history of {phrases.chain.name}"


#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    **transfers.WORDS,
    **nested_calls.WORDS,
    **xcm_calls.WORDS,
    ("System", "remark"): _remark,
    ("System", "remark_with_event"): _remark,
}
