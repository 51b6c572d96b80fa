"""Blocks of a chain as a node gives them, checked against what they say themselves; the events in
them, and what their errors mean."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import XCM_PALLETS
from scenarioctl.errors import ChainUnreachable, InvalidRequest, shorten
from scenarioctl.model.amounts import from_hex
from scenarioctl.runtime.storage_keys import extrinsics_roots, storage_key
from scenarioctl.runtime.type_table import find_typed
from scenarioctl.transactions.extrinsic import decode_extrinsic, extrinsic_hash

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that a runtime reports."""

    pallet: str
    name: str
    #: By the runtime's own names; a list, or None, if they have none.
    fields: Any = None

    def __str__(self) -> str:
        return f"{self.pallet}.{self.name}"

    def is_of_xcm(self, name: str) -> bool:
        """Tell whether it is the event *name* of the XCM pallet."""
        return self.pallet in XCM_PALLETS and self.name == name


def read_event(value: Any) -> Event:
    """Return the event that a decoded RuntimeEvent is: `{"Pallet": {"Event": fields}}`, or
    `{"Pallet": "Event"}`."""
    pallet, inner = next(iter(value.items())) if isinstance(value, Mapping) else (str(value), None)
    if isinstance(inner, Mapping):
        name, fields = next(iter(inner.items()))
        return Event(pallet=pallet, name=name, fields=fields)
    return Event(pallet=pallet, name=str(inner))


#: What the errors of the XCM executor mean for a sender.
XCM_ERRORS: Mapping[str, str] = {
    "AssetNotFound": "the chain does not know the asset",
    "Barrier": "the chain does not accept such a message",
    "FailedToTransactAsset": (
        "the asset could not be moved there: the balance is too low, or less than the "
        "existential deposit would remain"
    ),
    "FeesNotMet": "the fee for delivering the message cannot be paid",
    "NotDepositable": "the asset cannot be deposited there",
    "NotHoldingFees": "more is set aside for the fee than arrives",
    "NotWithdrawable": "the asset cannot be withdrawn from the account that backs it there",
    "TooExpensive": "too little is set aside for the fee, or the asset cannot pay fees there",
    "Transport": "the message could not be forwarded",
    "Unroutable": "there is no route to the destination",
    "UntrustedReserveLocation": (
        "the chain does not accept the sending chain as the asset's reserve"
    ),
    "UntrustedTeleportLocation": (
        "the chain accepts no teleport of the asset from the sending chain"
    ),
}
#: What the pallet's own errors mean; some share a name with the executor's.
_PALLET_ERRORS: Mapping[str, str] = {
    "Filtered": "the runtime does not allow this message",
    "InvalidAssetUnknownReserve": "the runtime does not know a safe reserve for the asset",
}
#: What is said of a balance that is too small for a call, and what it means.
_BALANCE_ERRORS: Mapping[str, str] = {
    "Token.FundsUnavailable": "the account cannot spend that much",
    "Token.OnlyProvider": (
        "something on chain needs the account, so it must keep its existential deposit"
    ),
    "Token.BelowMinimum": (
        "an account that holds none would receive less than the existential deposit"
    ),
    "Token.CannotCreate": "the receiving account cannot be created with it",
    "Token.Frozen": "it is locked, or something on chain needs the account",
    "Token.NotExpendable": "the account must keep its existential deposit",
    "Tokens.BalanceTooLow": "the account cannot spend that much",
    "Tokens.LiquidityRestrictions": "it is locked",
    "Tokens.KeepAlive": "the account must keep its existential deposit",
    "Assets.BalanceLow": "the account cannot spend that much, or must keep its minimum balance",
    "Balances.InsufficientBalance": "the account cannot spend that much",
    "Balances.LiquidityRestrictions": "it is locked",
    "Balances.Expendability": "the account must keep its existential deposit",
    "Balances.ExistentialDeposit": (
        "an account that holds none would receive less than the existential deposit"
    ),
}


def explain_dispatch_error(table: "RuntimeTable", error: Any) -> str:
    """Return a `DispatchError`, as decoded, as `Pallet.Error`, with what it means where that is
    known."""
    if not isinstance(error, Mapping) or len(error) != 1:
        return str(error)
    kind, inner = next(iter(error.items()))
    if kind != "Module" or not isinstance(inner, Mapping):
        return f"{kind}.{name_of(inner)}" if inner is not None else str(kind)
    code = inner["error"]
    data = code if isinstance(code, bytes) else bytes((code,))
    pallet, found = table.module_error(inner["index"], data)
    if found is None:
        return f"{pallet}: error {data.hex()}"
    name = name_of(found)
    within = next(iter(found.values())) if isinstance(found, Mapping) else None
    if isinstance(within, Mapping) and "error" in within:
        return f"{pallet}.{name}: {explain_xcm_error(within['error'])}"
    meaning = {**XCM_ERRORS, **_PALLET_ERRORS}.get(name) if pallet in XCM_PALLETS else None
    return f"{pallet}.{name}, {meaning}" if meaning else f"{pallet}.{name}"


def explain_balance_error(table: "RuntimeTable", error: Any) -> str:
    """Return a `DispatchError` as `explain_dispatch_error` does, with what it means for a
    balance."""
    told = explain_dispatch_error(table, error)
    meaning = _BALANCE_ERRORS.get(told)
    return f"{told}, {meaning}" if meaning else told


def explain_xcm_error(error: Any) -> str:
    """Return an error of the XCM executor by name, with what it means where that is known."""
    name = name_of(error)
    meaning = XCM_ERRORS.get(name)
    return f"{name}, {meaning}" if meaning else name


def name_of(value: Any) -> str:
    """Return the name of a variant, like an error."""
    return str(next(iter(value))) if isinstance(value, Mapping) and value else str(value)


#: The last name of a type -> what a value of it says if nothing failed; None if such a value is a
#: failure in itself.
_OUTCOMES: dict[str, str | None] = {
    "Result": "Ok",
    "Outcome": "Complete",
    "ExitReason": "Succeed",
    "DispatchError": None,
    "ProcessMessageError": None,
}
#: How events are called that tell of a failure without a reason in their fields.
_NAMES = ("Failed", "Interrupted", "WithErrors", "Revert", "Reverted")
#: What the call provides for: its fallback runs; an order ends since the call stops it, of which
#: the event tells as an error.
EXPECTED = frozenset(("Utility.IfElseFallbackCalled", "DCA.Terminated"))
_MISFITS = (LookupError, TypeError, ValueError, AttributeError)


def tells_failure(event: "Event", table: "RuntimeTable") -> bool:
    """Tell whether *event* says that something failed: by its name, or by a result, outcome or
    error in its fields."""
    if event.name.endswith(_NAMES):
        return True
    types = table.types

    def is_outcome(type_id: int) -> bool:
        return types[type_id][0].rpartition("::")[2] in _OUTCOMES

    value = {event.pallet: event.name if event.fields is None else {event.name: event.fields}}
    try:
        found = list(find_typed(types, event_type(table), value, is_outcome))
    except _MISFITS:
        # It is of another shape than its type: nothing is known of it.
        return True
    return any(_failed(types[type_id][0].rpartition("::")[2], value) for type_id, value in found)


def _failed(name: str, value: Any) -> bool:
    good = _OUTCOMES[name]
    return good is None or not (value == good or (isinstance(value, dict) and good in value))


def event_type(table: "RuntimeTable") -> int:
    """Return the type of all events of a runtime, of which `System.Events` is a list with the place
    of each."""
    types = table.types
    record = types[types[table.storage_entry("System", "Events").value_type][3]]
    return int(next(type_id for name, type_id, _ in record[3] if name == "event"))


@dataclass(frozen=True, kw_only=True)
class Heads:
    """Numbers of a chain's best and last final block."""

    best: int
    finalized: int


async def read_heads(client: "Client") -> Heads:
    final, best = await client.call_many([("chain_getFinalizedHead", ()), ("chain_getHeader", ())])
    if not isinstance(final, str):
        # Without a hash the question below would be about the best block.
        raise ChainUnreachable(
            f"{client.endpoint} returned no finalized head: {shorten(final, 80)}"
        )
    return Heads(best=client.read_number(best), finalized=await client.number_of(final))


async def read_block_hashes(client: "Client", numbers: Iterable[int]) -> list[str]:
    """Return the hashes of the blocks with *numbers*; ChainUnreachable if the node doesn't have all
    of them."""
    blocks = await client.call_many([("chain_getBlockHash", (number,)) for number in numbers])
    if not all(isinstance(block, str) for block in blocks):
        raise ChainUnreachable(
            f"{client.endpoint} returned no hash of a block: {shorten(blocks, 200)}"
        )
    return blocks


#: Characters of an extrinsic that sets the time, at most.
_TIME_SET = 40


def _read_time(table: "RuntimeTable", extrinsics: Sequence[str]) -> int | None:
    """Return the argument of `Timestamp.set`, which each block has among its first extrinsics."""
    # The others among the first may be long.
    for each in (each for each in extrinsics[:4] if len(each) <= _TIME_SET):
        with suppress(InvalidRequest):
            call = decode_extrinsic(table, from_hex(each) or b"").call
            if (call.pallet, call.method) == ("Timestamp", "set"):
                time: int = call.args["now"]
                return time
    return None


def find_extrinsic(extrinsics: Sequence[Any], hash: str) -> int | None:
    """Return the place of the extrinsic with *hash* among those of a block, in 0x hex; None if it
    isn't there."""
    for index, each in enumerate(extrinsics):
        if isinstance(each, str) and extrinsic_hash(from_hex(each) or b"") == hash:
            return index
    return None


def read_events(client: "Client", table: "RuntimeTable", raw: Any) -> list[Any]:
    """Return the records in *raw*, the System.Events of a block."""
    key = storage_key(table, "System", "Events", ())
    try:
        records: list[Any] = table.decode(key.entry.value_type, bytes.fromhex(raw[2:]))
    except (TypeError, ValueError, InvalidRequest):
        raise ChainUnreachable(
            f"{client.endpoint} returned unreadable events: {shorten(raw, 80)}"
        ) from None
    return records


def read_block(client: "Client", answer: Any, block_hash: str) -> tuple[int, list[str]]:
    """Return number and extrinsics, in 0x hex, of the block with the hash *block_hash*;
    ChainUnreachable if they aren't its own."""
    block = answer.get("block") if isinstance(answer, Mapping) else None
    extrinsics = block.get("extrinsics") if isinstance(block, Mapping) else None
    data = [from_hex(each) for each in extrinsics] if isinstance(extrinsics, list) else [None]
    if not isinstance(block, Mapping) or not isinstance(extrinsics, list) or None in data:
        raise ChainUnreachable(
            f"{client.endpoint} returned an unreadable block: {shorten(answer, 200)}"
        )
    number = client.check_header(block.get("header"), block_hash)
    if block["header"]["extrinsicsRoot"] not in extrinsics_roots(
        [each for each in data if each is not None]
    ):
        raise ChainUnreachable(
            f"{client.endpoint} returned other transactions for block {number} of "
            f"{client.chain.title} than the block has"
        )
    return number, extrinsics
