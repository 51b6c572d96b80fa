"""Words for calls of contracts: whom, with how much; what the contract does is known of an asset's own one alone."""

from collections.abc import Mapping
from typing import Any

from scenarioctl.transactions.inner_calls import DISPATCH_PRECOMPILE, decoded_call
from scenarioctl.transactions.wording.phrases import Danger, GrantedRight, Phrases, Words

#: Before the number of an asset in its address, …
_ASSET = bytes(15) + b"\1"
#: … which these functions of ERC-20 are called at: `transfer`, and `approve`, with an account and an amount.
_TRANSFER, _APPROVE = bytes.fromhex("a9059cbb"), bytes.fromhex("095ea7b3")
_ERC20 = 4 + 32 + 32


def _evm_call(phrases: Phrases, args: Mapping[str, Any]) -> str:
    target, data = args["target"], args["input"]
    plain = not (args["value"] or args["access_list"] or args["authorization_list"])
    table = phrases.tables(phrases.chain)
    if plain and target == DISPATCH_PRECOMPILE and table is not None:
        inner = decoded_call(data, table)
        if inner is not None:
            return f"as the EVM account 0x{args['source'].hex()}: [{phrases.say(phrases.within(), inner)}]"
    if plain and target[:16] == _ASSET and len(data) == _ERC20 and not any(data[4:16]):
        said = _erc20(phrases, int.from_bytes(target[16:]), data)
        if said:
            return said
    return _contract(phrases, "calls", target, args["value"], args["gas_limit"], data)


def _erc20(phrases: Phrases, number: int, data: bytes) -> str:
    function, who = data[:4], data[16:36]
    amount = phrases.listed(int.from_bytes(data[36:]), number)
    if function == _TRANSFER:
        phrases.reading.note(Danger.MONEY)
        return f"transfers {amount} to 0x{who.hex()} on {phrases.chain.name}, through the EVM"
    if function == _APPROVE:
        right = f"lets 0x{who.hex()} transfer up to {amount} of the signer to anyone from now on, on {phrases.chain.name}"
        phrases.reading.grants(GrantedRight(sentence=right, accounts=frozenset((who,))))
        return right
    return ""


def _contract(phrases: Phrases, verb: str, target: Any, value: int, gas: Any, data: bytes) -> str:
    """Return the words of a call of the contract at *target*, or of its creation if that is none."""
    contract = "a new contract" if target is None else f"the contract at 0x{target.hex()}"
    phrases.reading.misses(f"what {contract} does is not known")
    limit = f"{gas['ref_time']} picoseconds" if isinstance(gas, Mapping) else f"{gas} gas"
    sent = f"with {value} smallest units of value, " if value else "with no value, "
    return (
        f"{verb} {contract} on {phrases.chain.name} {sent}up to {limit} and {len(data)} bytes of input "
        "(what it does is not known)"
    )


def _create(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return _contract(phrases, "creates", None, args["value"], args["gas_limit"], args["init"])


def _ethereum(phrases: Phrases, args: Mapping[str, Any]) -> str:
    ((_, transaction),) = args["transaction"].items()
    action = transaction.get("action", transaction.get("destination"))
    target = action["Call"] if isinstance(action, Mapping) else None
    return _contract(
        phrases,
        "creates" if target is None else "calls",
        target,
        transaction["value"],
        transaction["gas_limit"],
        transaction.get("input", transaction.get("data")),
    )


def _revive(phrases: Phrases, args: Mapping[str, Any]) -> str:
    target = args.get("dest")
    verb = "creates" if target is None else "calls"
    return _contract(phrases, verb, target, args["value"], args["weight_limit"], args["data"])


def _permit(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return _contract(phrases, "calls by permit", args["to"], args["value"], args["gas_limit"], args["data"])


#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    ("EVM", "call"): _evm_call,
    ("EVM", "create"): _create,
    ("EVM", "create2"): _create,
    ("Ethereum", "transact"): _ethereum,
    ("MultiTransactionPayment", "dispatch_permit"): _permit,
    **{
        ("Revive", method): _revive
        for method in (
            "call",
            "eth_call",
            "instantiate",
            "instantiate_with_code",
            "eth_instantiate_with_code",
        )
    },
}
