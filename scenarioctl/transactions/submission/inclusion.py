"""Blocks, and what a transaction did in the one that includes it: its outcome, its fee, and the XCM
messages that it sent.

Its events tell where a message goes, and by which id the destination will know it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS, format_account
from scenarioctl.chains.locations import seen_from, split_account, write_location
from scenarioctl.errors import ChainUnreachable, InvalidRequest, shorten
from scenarioctl.model.amounts import from_hex
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Amount, Holding
from scenarioctl.model.json_types import HoldingAnswer
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.blocks import (
    Event,
    _read_time,
    event_type,
    explain_dispatch_error,
    find_extrinsic,
    read_block,
    read_event,
    read_events,
)
from scenarioctl.transactions.extrinsic import decode_extrinsic
from scenarioctl.transactions.simulation.ledger import (
    paid_for_delivery,
    read_balance_changes,
    read_transfers,
    unread_events,
)
from scenarioctl.transactions.simulation.runtime_api import amount_of
from scenarioctl.transactions.simulation.trapped_assets import say_trapped
from scenarioctl.transactions.submission.outcomes import Outcome, read_outcomes
from scenarioctl.transactions.values import ValueWriter
from scenarioctl.transactions.xcm_instructions import (
    Instruction,
    chain_at,
    find_chain,
    kind_of,
    walk_program,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.runtime.table import RuntimeTable


@dataclass(frozen=True, kw_only=True)
class SentMessage:
    """A message on its way to another chain."""

    #: Name of the chain that it goes to; empty if that is none of the registry.
    chain: str
    #: What people call that chain; empty as well.
    title: str = ""
    #: Where it goes, as text.
    place: str
    #: 0x hex: what `MessageQueue.Processed` calls it there.  It is the topic of the message, else
    #: its hash.
    id: str
    #: Names of chains that its program sends something on to.
    onward: tuple[str, ...] = ()
    #: Accounts that its program pays there, 0x hex.
    receivers: tuple[str, ...] = ()


def find_messages(
    registry: "Registry", chain: "Chain", events: Sequence[Event]
) -> Iterator[SentMessage]:
    """Give the messages that a transaction on *chain* sent, by its *events*."""
    told = [
        event for event in events if event.is_of_xcm("Sent") and isinstance(event.fields, Mapping)
    ]
    for event in told:
        place = write_location(event.fields["destination"])
        destination = chain_at(registry, chain, place) if place else None
        passed = list(
            walk_program(event.fields["message"], registry, chain=destination, origin=chain)
        )
        yield SentMessage(
            chain=destination.name if destination is not None else "",
            title=destination.title if destination is not None else "",
            place=place or "an unnamed location",
            id=message_id(event.fields.get("message_id")),
            onward=_onward(passed, destination),
            receivers=_receivers(passed),
        )
    if told:
        return
    # What an executed program sends, some runtimes tell by the transport alone.
    for event in events:
        if str(event) == "ParachainSystem.UpwardMessageSent":
            relay = find_chain(registry, chain, "")
            name, title = (relay.name, relay.title) if relay is not None else ("", "")
            yield SentMessage(
                chain=name, title=title, place="1/Here", id=message_id(event.fields["message_hash"])
            )
        elif str(event) == "XcmpQueue.XcmpMessageSent":
            yield SentMessage(
                chain="",
                place="a parachain that the event doesn't name",
                id=message_id(event.fields["message_hash"]),
            )


def message_id(value: Any) -> str:
    """Return the id of a message, as an event has it, in 0x hex; empty if it isn't one."""
    return "0x" + value.hex() if isinstance(value, bytes) else ""


def _onward(program: Sequence[Instruction], destination: "Chain | None") -> tuple[str, ...]:
    """Return the names of the chains that *program* sends something on to, from *destination*."""
    if destination is None:
        return ()
    names = [each.chain.name for each in program if each.chain is not None]
    return tuple(dict.fromkeys(name for name in names if name != destination.name))


def _receivers(program: Sequence[Instruction]) -> tuple[str, ...]:
    """Return the accounts that *program* pays on its destination itself, in 0x hex."""
    accounts = [
        split_account(each.fields[kind.pays])[1]
        for each in program
        if not each.sent_on and (kind := kind_of(each.name)).pays
    ]
    return tuple(dict.fromkeys(f"0x{each.hex()}" for each in accounts if each is not None))


#: Events that tell of a fee in another asset: their fields that name the asset and the amount.
_OTHER_FEES = {
    "AssetTxPayment.AssetTxFeePaid": ("asset_id", "actual_fee"),
    "AssetConversionTxPayment.AssetTxFeePaid": ("asset_id", "actual_fee"),
    "MultiTransactionPayment.FeeWithdrawn": ("asset_id", "non_native_fee_amount"),
}
#: The pallet of chains on which each account has a currency of its own for fees.
_CURRENCIES = "MultiTransactionPayment"
_FEE_PAID = "TransactionPayment.TransactionFeePaid"
#: Events of a currency that an account pays and gets: the field that names it ("" for the native
#: asset).
_WITHDRAWN = {
    "Balances.Withdraw": "",
    "Tokens.Withdrawn": "currency_id",
    "Currencies.Withdrawn": "currency_id",
}
_UPGRADED = "Balances.Upgraded"
_DEPOSITED = {
    "Balances.Deposit": "",
    "Tokens.Deposited": "currency_id",
    "Currencies.Deposited": "currency_id",
}


@dataclass(frozen=True, kw_only=True)
class Inclusion:
    """What a transaction did in its block."""

    block: str
    number: int
    #: Place among the block's extrinsics.
    index: int
    #: As plain data, `{"Pallet": {"Event": fields}}`.
    events: tuple[Any, ...]
    #: Raw amount of the native asset; None where the runtime does not tell.
    fee: int | None = None
    #: Why it failed; empty unless it did.
    error: str = ""
    #: What its signer paid for it, where that was another asset than the native one.
    fee_paid_in: Amount | None = None
    #: What its signer has less by it, fees included; None if that isn't known.
    left: tuple[Amount, ...] | None = None
    #: What those that make its calls, and those that these name, have more by it on its chain; None
    #: if that isn't known.
    received: tuple[HoldingAnswer, ...] | None = None
    #: What the other accounts that make its calls have less by it, and what moved from one that
    #: makes a call to one that a call names: payer, receiver and amount.
    spent: tuple[HoldingAnswer, ...] = ()
    paid: tuple[Mapping[str, Any], ...] = ()
    #: What its signer paid for delivering messages.
    delivery: tuple[Amount, ...] = ()
    #: When its block was made, in milliseconds since 1970; None if the block doesn't tell.
    time: int | None = None
    #: What went wrong inside a call that succeeded: of a batch, a proxy, a multisig; and what it
    #: left trapped.
    inner: tuple[str, ...] = ()
    #: The messages that it sent to other chains.
    messages: tuple[SentMessage, ...] = ()
    #: What became of its call and of those inside it, the outer ones first.
    outcomes: tuple[Outcome, ...] = ()


async def read_inclusion(
    client: "Client", block_hash: str, hash: str, *, assets: "Assets", account: bytes | None = None
) -> Inclusion:
    """Return what the extrinsic with *hash*, of *account*, did in the block that holds it."""
    table = await client.table_at(block_hash)
    key = storage_key(table, "System", "Events", ())
    answer, raw = await client.call_many(
        [("chain_getBlock", (block_hash,)), ("state_getStorage", (key.hex, block_hash))]
    )
    number, extrinsics = read_block(client, answer, block_hash)
    index = find_extrinsic(extrinsics, hash)
    if index is None:
        raise ChainUnreachable(
            f"{client.endpoint} returned block {block_hash} without the transaction"
        )
    records = read_events(client, table, raw)
    values = [record["event"] for record in records if record["phase"] == {"ApplyExtrinsic": index}]
    writer = ValueWriter(table, client.chain)
    events = [read_event(value) for value in values]
    call = _read_call(table, extrinsics[index])
    outcomes = [Outcome(hash="", account=account, why="its call can't be read")]
    if call is not None:
        outcomes = read_outcomes(table, call, account, events)
    actors = {f"0x{each.account.hex()}" for each in outcomes if each.account is not None}
    named = {*_named_accounts(call)}
    signer = set() if account is None else {f"0x{account.hex()}"}
    unread = bool(unread_events(events))
    return Inclusion(
        block=block_hash,
        number=number,
        index=index,
        events=tuple(writer.value(event_type(table), value) for value in values),
        **_read_fees(client.chain, assets, events, chosen=_CURRENCIES in table.pallets),
        left=losses(events, client.chain, assets, account),
        received=None
        if unread
        else tuple(gains(events, client.chain, assets, named | actors | signer)),
        spent=tuple(gains(events, client.chain, assets, actors - signer, sign=-1)),
        paid=() if unread else tuple(_payments(events, client.chain, assets, actors, named)),
        delivery=_read_delivery(events, client.chain, assets, account),
        time=_read_time(table, extrinsics),
        error=_failure(table, events),
        inner=tuple(_inner_failures(table, client.chain, assets, events, account, number)),
        messages=tuple(find_messages(assets.registry, client.chain, events)),
        outcomes=tuple(outcomes),
    )


def losses(
    events: Sequence[Event], chain: "Chain", assets: "Assets", account: bytes | None
) -> tuple[Amount, ...] | None:
    """Return what *account* has less after *events* of *chain*; None if that isn't known."""
    if account is None or unread_events(events):
        return None
    return tuple(
        amount_of(change.asset, -change.value)
        for change in read_balance_changes(events, chain, assets)
        if change.account == account and change.value < 0
    )


def gains(
    events: Sequence[Event],
    chain: "Chain",
    assets: "Assets",
    accounts: Collection[str],
    *,
    sign: int = 1,
) -> list[HoldingAnswer]:
    """Return what *accounts*, in 0x hex, get by *events* of *chain*, or lose with the *sign* -1;
    nothing if that isn't known."""
    if unread_events(events):
        return []
    return [
        Holding(
            chain=chain.name,
            account=ACCOUNT_FORMATS[len(change.account)].format(change.account, chain.ss58_prefix),
            amount=amount_of(change.asset, sign * change.value),
        ).answer()
        for change in read_balance_changes(events, chain, assets)
        if sign * change.value > 0 and f"0x{change.account.hex()}" in accounts
    ]


def _payments(
    events: Sequence[Event],
    chain: "Chain",
    assets: "Assets",
    payers: Collection[str],
    receivers: Collection[str],
) -> Iterator[dict[str, Any]]:
    """Give what *events* move from one of *payers* to one of *receivers*, both in 0x hex."""
    for source, target, asset, value in read_transfers(events, chain, assets):
        if f"0x{source.hex()}" in payers and f"0x{target.hex()}" in receivers and value:
            ends = (format_account(each, chain.ss58_prefix) for each in (source, target))
            yield {
                **dict(zip(("payer", "receiver"), ends, strict=True)),
                **amount_of(asset, value).answer(),
            }


def _read_call(table: "RuntimeTable", extrinsic: str) -> Call | None:
    """Return the call of *extrinsic*; None if it can't be read."""
    try:
        return decode_extrinsic(table, from_hex(extrinsic) or b"").call
    except InvalidRequest:
        return None


def _named_accounts(call: Call | None) -> Iterator[str]:
    """Give what may be an account in *call*, in 0x hex: each field as long as one."""
    values: list[Any] = [call]
    while values:
        value = values.pop()
        if isinstance(value, bytes) and len(value) in ACCOUNT_FORMATS:
            yield f"0x{value.hex()}"
        elif isinstance(value, Mapping):
            values += value.values()
        elif isinstance(value, (list, tuple)):
            values += value
        elif isinstance(value, Call):
            values.append(value.args)


def _read_delivery(
    events: Sequence[Event], chain: "Chain", assets: "Assets", account: bytes | None
) -> tuple[Amount, ...]:
    """Return what *account* paid for delivering messages, of the assets that are known."""
    if account is None:
        return ()
    paid = paid_for_delivery(events, account, chain)
    found = (
        (assets.at(chain, seen_from(place, chain.para_id)), value) for place, value in paid.items()
    )
    return tuple(amount_of(asset, value) for asset, value in found if asset is not None and value)


def _failure(table: "RuntimeTable", events: Sequence[Event]) -> str:
    for event in events:
        if str(event) == "System.ExtrinsicFailed":
            return explain_dispatch_error(table, event.fields["dispatch_error"])
    return ""


def _read_fees(
    chain: "Chain", assets: "Assets", events: Sequence[Event], *, chosen: bool = False
) -> dict[str, Any]:
    """Return the fields `fee` and `fee_paid_in` of an Inclusion.

    With *chosen*, accounts choose the currency of their fees, and `TransactionFeePaid` tells no
    currency.
    """
    fee, paid = None, None
    told = False
    for event in events:
        if str(event) == _FEE_PAID:
            fee = event.fields["actual_fee"]
        elif str(event) in _OTHER_FEES:
            label, amount = _OTHER_FEES[str(event)]
            paid = _read_other_fee(chain, assets, event.fields[label], event.fields[amount]) or paid
            told = True
    if chosen and fee and not told:
        withdrawn = _withdrawn_fee(events)
        if withdrawn is None:
            return {"fee": None, "fee_paid_in": None}
        currency, taken = withdrawn
        paid = None if currency is None else _read_other_fee(chain, assets, currency, taken)
    return {"fee": fee, "fee_paid_in": paid}


def _withdrawn_fee(events: Sequence[Event]) -> tuple[int | None, int] | None:
    """Return the currency that paid the fee, None for the native one, and the amount; None if the
    events don't tell.

    The chain withdraws the fee before all else, returns what is too much of it after the call, and
    last gives the rest to its treasury.
    """
    end = next(place for place, event in enumerate(events) if str(event) == _FEE_PAID)
    payer = events[end].fields["who"]
    first = next(event for event in events if event.pallet != "System" and str(event) != _UPGRADED)
    if str(first) not in _WITHDRAWN or first.fields["who"] != payer:
        return None
    label = _WITHDRAWN[str(first)]
    identity = first.fields[label] if label else None
    for event in reversed(events[1:end]):
        if str(event) not in _DEPOSITED or event.fields["who"] == payer:
            continue
        if event.pallet == "Currencies" and first.pallet != "Currencies":
            # It repeats what Balances and Tokens report.
            continue
        own = _DEPOSITED[str(event)]
        same = (event.fields[own] if own else None) == identity
        amount: int = event.fields["amount"]
        return (identity, amount) if same and amount <= first.fields["amount"] else None
    return None


def _inner_failures(
    table: "RuntimeTable",
    chain: "Chain",
    assets: "Assets",
    events: Sequence[Event],
    account: bytes | None,
    block: int,
) -> Iterator[str]:
    """Give what failed inside a call that succeeded as a whole, and what it left trapped."""
    for event in events:
        if event.is_of_xcm("AssetsTrapped"):
            yield say_trapped(assets, chain, event, account, block)
        elif str(event) != "System.ExtrinsicFailed":
            yield from (f"{event}: {why}" for why in _inner_errors(table, event))


def _read_other_fee(chain: "Chain", assets: "Assets", identity: Any, value: int) -> Amount | None:
    """Return a fee that was paid in the asset *identity*; None for the native one, whose fee
    another event tells."""
    asset = assets.named(chain, identity)
    if asset is not None:
        return None if asset.kind == "native" else amount_of(asset, value)
    place = "" if isinstance(identity, int) else write_location(identity)
    unlisted = f"the asset at {place}" if place else "an unknown asset"
    return Amount(value=value, asset=f"asset {identity}" if isinstance(identity, int) else unlisted)


def _inner_errors(table: "RuntimeTable", event: Event) -> list[str]:
    """Return what failed inside a call that succeeded as a whole."""
    fields = event.fields if isinstance(event.fields, Mapping) else {"": event.fields}
    found = []
    if event.name in ("BatchInterrupted", "ItemFailed"):
        found.append(explain_dispatch_error(table, fields["error"]))
    for value in fields.values():
        if isinstance(value, Mapping) and set(value) == {"Err"}:
            found.append(explain_dispatch_error(table, value["Err"]))
        if event.name == "Attempted" and isinstance(value, Mapping) and "Complete" not in value:
            found.append(f"the message was not executed completely ({shorten(value, 200)})")
    return found
