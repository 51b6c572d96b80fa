"""Words for calls of contracts: whom, with how much; what the contract does is known of an asset's own one alone."""

from collections.abc import Mapping
from typing import Any

from scenarioctl.transactions.inner_calls import DISPATCH_PRECOMPILE, decoded_call
from scenarioctl.transactions.wording.phrases import Danger, GrantedRight, Phrases, Words
from scenarioctl.transactions.wording.sentences import fill, rows, sentence

#: Before the number of an asset in its address, …
_ASSET = bytes(15) + b"\1"
#: … which these functions of ERC-20 are called at, with an account and an amount.
_TRANSFER, _APPROVE = bytes.fromhex("a9059cbb"), bytes.fromhex("095ea7b3")
_ERC20 = 4 + 32 + 32


def _evm_call(phrases: Phrases, args: Mapping[str, Any]) -> str:
    target, data = args["target"], args["input"]
    plain = not (args["value"] or args["access_list"] or args["authorization_list"])
    table = phrases.tables(phrases.chain)
    if (
        plain
        and target == DISPATCH_PRECOMPILE
        and table is not None
        and decoded_call(data, table) is not None
    ):
        return fill(phrases, "as the EVM account {hex:source}: {encoded:input}", args)
    if plain and target[:16] == _ASSET and len(data) == _ERC20 and not any(data[4:16]):
        who, amount = data[16:36], phrases.amount(int.from_bytes(data[36:]), int.from_bytes(target[16:]))
        if data[:4] == _TRANSFER:
            phrases.reading.note(Danger.MONEY)
            return f"transfers {amount} to 0x{who.hex()} on {phrases.here}, through the EVM"
        if data[:4] == _APPROVE:
            right = f"lets 0x{who.hex()} transfer up to {amount} of the signer to anyone from now on, on {phrases.here}"
            phrases.reading.grants(GrantedRight(sentence=right, accounts=frozenset((who,))))
            return right
    return fill(phrases, _CALL, args)


def _contract(called: str, gas: str, data: str, around: str = "") -> str:
    """Return the words of a call of a contract whose other fields stand in *around*."""
    return (
        f"{called} on {{here}} <{around}value+with {{plain:{around}value}} smallest units of value|with no value>, "
        f"up to {{gas:{around}{gas}}} and {{count:{around}{data}}} bytes of input (what it does is not known)"
    )


_CALL = _contract("calls {contract:target}", "gas_limit", "input")
_PERMIT = _contract("calls by permit {contract:to}", "gas_limit", "data")
_CREATE = _contract("creates {created}", "weight_limit", "data")
#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    ("EVM", "call"): _evm_call,
    ("Ethereum", "transact"): sentence(
        _contract("calls {contract:transaction.*.action.Call}", "gas_limit", "input", "transaction.*."),
        _contract("calls {contract:transaction.*.destination.Call}", "gas_limit", "data", "transaction.*."),
        _contract("creates {created}", "gas_limit", "input", "transaction.*."),
    ),
    **rows(
        {
            "EVM.create|create2": _contract("creates {created}", "gas_limit", "init"),
            "MultiTransactionPayment.dispatch_permit": _PERMIT,
            "Revive.call|eth_call": _contract("calls {contract:dest}", "weight_limit", "data"),
            "Revive.instantiate|instantiate_with_code|eth_instantiate_with_code": _CREATE,
        }
    ),
}
