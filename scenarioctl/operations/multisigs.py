"""The operations that multisigs have open, and what their signatories sign to approve, run or
cancel one."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.chains.addresses import ACCOUNT_FORMATS, format_account
from scenarioctl.errors import (
    ChainRefused,
    ChainUnreachable,
    Conflict,
    InvalidRequest,
    NotFound,
    ScenarioctlError,
)
from scenarioctl.model.acting import Acting, MultisigLayer
from scenarioctl.model.amounts import from_hex
from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.model.json_types import SHOWN, AmountAnswer, Column, Hex
from scenarioctl.model.request_fields import ChainName, Hash, TransactionHex, Value
from scenarioctl.operations.built_transactions import (
    BuiltCall,
    BuiltFields,
    answer_call,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.transaction_status import examine, read_effects
from scenarioctl.stores.sent import SentFilter
from scenarioctl.transactions.blocks import Event, read_event
from scenarioctl.transactions.extrinsic import parse_hash, parse_hex
from scenarioctl.transactions.values import write_account

if TYPE_CHECKING:
    from scenarioctl.actions.acting import OpenOperation
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable

__all__ = ["approve_operation", "cancel_operation", "execute_operation", "list_operations"]

#: Operations of one multisig on one chain that are listed; transactions of the store that name one.
_MOST = 200
#: Events that end an operation: what became of it, and their field that says who did that.
_ENDS: Mapping[str, tuple[Literal["executed", "canceled"], str]] = {
    "MultisigExecuted": ("executed", "approving"),
    "MultisigCancelled": ("canceled", "cancelling"),
}
_WHO = Annotated[str, Value("NAME", complete="ADDRESS", public="as")]


@dataclass(frozen=True, kw_only=True)
class ListOperations:
    """List the operations that a multisig has open, as the chains have them now: what each does,
    who approved it, who is missing."""

    #: A multisig of the address book, or an account for which one acts.
    acting: _WHO
    #: Chains to ask. Default: the relay chains, their system parachains and Hydration, and the
    #: chains of config.toml.
    chains: Annotated[tuple[str, ...], Value("CHAIN", called=("chain",))] = ()
    #: Calls that an operation may be of, as 0x hex: those that were not opened with the call
    #: itself.
    calls: Annotated[tuple[str, ...], Value("HEX", option="--call", repeats=True)] = ()


class OperationRow(TypedDict):
    chain: Annotated[str, SHOWN]
    call_hash: Annotated[Hex, Column("hash")]
    #: What the call does, in one sentence; empty if nobody knows the call.
    says: Annotated[str, Column("what it does")]
    #: Why nobody knows the call, in words; empty if it is known.
    unknown: Annotated[str, SHOWN]
    #: The call data; null if nobody knows them. They have been hashed: it is this call that is
    #: approved.
    call: "Hex | None"
    approved: Annotated[list[str], Column(form="count")]
    threshold: Annotated[int, Column("of")]
    missing: Annotated[list[str], SHOWN]
    #: Who opened it, and gets the deposit back.
    depositor: str
    deposit: Annotated[AmountAnswer, SHOWN]
    #: The block and the extrinsic that opened it, as the chain names them.
    opened: dict[str, int]
    #: How many blocks ago that was; null if the chain counts other blocks there.
    age: Annotated[int | None, Column("blocks ago")]
    #: How many endpoints of the chain told the same.
    asked: Literal[1, 2]


class UnreadChain(TypedDict):
    chain: str
    error: str


class OperationList(TypedDict):
    multisig: str
    operations: Annotated[list[OperationRow], SHOWN]
    #: Chains that could not be read: what is open there is unknown.
    unread: list[UnreadChain]


async def list_operations(app: Application, request: ListOperations) -> Result[OperationList]:
    from scenarioctl.operations.balances import usual_chains

    acting, layer, _ = _multisig_of(app)
    chains = [app.registry.find(name) for name in request.chains]
    chains = list(dict.fromkeys(chains)) or usual_chains(app, ACCOUNT_FORMATS[len(layer.account)])
    given = [parse_hex(each, field=f"calls[{place}]") for place, each in enumerate(request.calls)]
    if app.settings.offline:
        raise ChainUnreachable(
            "open operations can't be read offline", advice=app.settings.online_advice
        )
    found = await asyncio.gather(*(_read_operations(app, chain, layer, given) for chain in chains))
    unread: list[UnreadChain] = [
        {"chain": chain.name, "error": str(each)}
        for chain, each in zip(chains, found, strict=True)
        if isinstance(each, ScenarioctlError)
    ]
    if len(unread) == len(chains):
        raise next(each for each in found if isinstance(each, ScenarioctlError))
    read = [
        (chain, each)
        for chain, each in zip(chains, found, strict=True)
        if not isinstance(each, ScenarioctlError)
    ]
    cut = tuple(
        (
            f"{acting.name} has more than {_MOST} operations open on {chain.title}: only these "
            "are listed."
        )
        for chain, each in read
        if each.cut
    )
    rows = [row for _, each in read for row in each.rows]
    return Result(
        answer={"multisig": acting.name, "operations": rows, "unread": unread}, warnings=cut
    )


def _multisig_of(app: Application) -> tuple[Acting, MultisigLayer, int]:
    """Return who acts, the multisig in it whose operations are meant, and its place."""
    if app.acting is None:
        raise InvalidRequest(
            field="as", problem="is missing", expected="a multisig of the address book"
        )
    for place, layer in enumerate(app.acting.layers):
        if isinstance(layer, MultisigLayer) and layer.threshold > 1:
            return app.acting, layer, place
    raise InvalidRequest(
        field="as",
        value=app.acting.name,
        problem="has no multisig of which several must approve",
        expected="one that has",
    )


@dataclass(frozen=True, kw_only=True)
class OpenOperations:
    """What a multisig has open on a chain."""

    rows: list[OperationRow]
    #: Whether there are more.
    cut: bool = False


async def _read_operations(
    app: Application, chain: "Chain", layer: MultisigLayer, given: Sequence[bytes] = ()
) -> OpenOperations | ScenarioctlError:
    """Return what *layer* has open on *chain*, or why that is unknown; *given* are calls that an
    operation may be of."""
    from scenarioctl.chains.confirmation import confirm

    try:
        found = await confirm(
            app.pool, lambda clients: _read_rows(app, clients(chain), layer, given)
        )
        read = found.agreed()
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        return error
    return replace(read, rows=[{**row, "asked": found.asked} for row in read.rows])


async def _read_rows(
    app: Application, client: "Client", layer: MultisigLayer, given: Sequence[bytes]
) -> OpenOperations:
    from scenarioctl.actions.acting import OpenOperation
    from scenarioctl.runtime.storage_keys import read_key, storage_key
    from scenarioctl.transactions.runtime_query import read_entries

    table = await client.table()
    number, head = await client.head()
    if not table.has_call("Multisig", "as_multi"):
        return OpenOperations(rows=[])
    key = storage_key(table, "Multisig", "Multisigs", [layer.account], partial=True)
    entries, cut = await read_entries(client, table, key, head, _MOST)
    rows = []
    for each, value in entries:
        opened = OpenOperation.read(read_key(table, key.entry, each)[1], value)
        call = await _find_call(client, table, opened, given, number)
        rows.append(_describe(app, client.chain, table, layer, opened, call, number))
    return OpenOperations(rows=rows, cut=cut)


async def _find_call(
    client: "Client",
    table: "RuntimeTable",
    opened: "OpenOperation",
    given: Sequence[bytes],
    best: int | None = None,
) -> "Call | str":
    """Return the call of an operation, one of those *given*, or in the extrinsic that opened it; or
    why neither has its hash.

    *best* is the number of the chain's best block.
    """
    from hashlib import blake2b

    from scenarioctl.operations.views import read_unsigned

    for data in given:
        try:
            call, call_data = read_unsigned(table, client.chain, data, field="call")
        except InvalidRequest:
            # It may be a call of another chain.
            continue
        if blake2b(call_data, digest_size=32).digest() == opened.call_hash:
            return call
    height = opened.when["height"]
    if best is not None and height > best:
        return (
            f"it was opened in block {height} of another chain, whose blocks "
            f"{client.chain.title} counts there, like those of its relay chain"
        )
    try:
        return await _opening_call(client, table, opened)
    except (ChainUnreachable, ChainRefused, InvalidRequest):
        # A node that has thrown the block away, or one of an older runtime. Two nodes have to say
        # the same.
        return f"block {height}, in which it was opened, can't be read"


async def _opening_call(
    client: "Client", table: "RuntimeTable", opened: "OpenOperation"
) -> "Call | str":
    from scenarioctl.actions.acting import hash_call
    from scenarioctl.transactions.blocks import read_block, read_block_hashes
    from scenarioctl.transactions.extrinsic import decode_extrinsic
    from scenarioctl.transactions.inner_calls import walk_calls

    (block,) = await read_block_hashes(client, [opened.when["height"]])
    _, extrinsics = read_block(client, await client.call("chain_getBlock", block), block)
    place = opened.when["index"]
    calls: list[Call] = []
    if place < len(extrinsics):
        signed = decode_extrinsic(table, from_hex(extrinsics[place]) or b"")
        calls = [found.call for found in walk_calls(signed.call, table)]
    lacking = (
        f"extrinsic {place} of block {opened.when['height']} doesn't have it: it was "
        "opened with its hash alone,"
        f" or {client.chain.title} counts blocks of another chain there"
    )
    return next((each for each in calls if hash_call(table, each) == opened.call_hash), lacking)


def _describe(
    app: Application,
    chain: "Chain",
    table: "RuntimeTable",
    layer: MultisigLayer,
    opened: "OpenOperation",
    call: "Call | str",
    number: int,
) -> OperationRow:
    from scenarioctl.model.checks import Amount
    from scenarioctl.operations.views import say_transaction

    def written(accounts: Sequence[bytes]) -> list[str]:
        return [format_account(each, chain.ss58_prefix) for each in accounts]

    native, height = app.assets.native(chain), int(opened.when["height"])
    deposit = Amount(value=opened.deposit, asset=native.display_name, decimals=native.decimals)
    return {
        "chain": chain.name,
        "call_hash": "0x" + opened.call_hash.hex(),
        "says": "" if isinstance(call, str) else say_transaction(app, chain, table, call),
        "unknown": call if isinstance(call, str) else "",
        "call": None if isinstance(call, str) else "0x" + table.encode_call(call).hex(),
        "threshold": layer.threshold,
        "approved": written(opened.approvals),
        "missing": written([each for each in layer.signatories if each not in opened.approvals]),
        "depositor": written([opened.depositor])[0],
        "deposit": deposit.answer(),
        "opened": {"height": height, "index": int(opened.when["index"])},
        "age": number - height if height <= number else None,
        "asked": 1,
    }


@dataclass(frozen=True, kw_only=True)
class OperationState:
    """What became of a call that a multisig began to approve."""

    #: `open`: it waits for approvals. `unknown`: it isn't open, and whether it ran isn't known.
    state: Literal["open", "executed", "canceled", "unknown"]
    #: The same in words, of "it"; of an unknown one, how to tell.
    says: str
    #: Who opened it, when, and who approved it; None unless it is open.
    opened: "OpenOperation | None" = None
    #: The transaction that ran or canceled it, with what it did, and what became of its calls; None
    #: if there is none.
    ending: SentTransaction | None = None


async def read_state(
    app: Application,
    client: "Client",
    account: bytes,
    call_hash: bytes,
    *,
    threshold: int,
    since: int = 0,
) -> OperationState:
    """Return what became of the call with *call_hash* that the multisig *account* is to make.

    *since* is the number of the block that opened it: the multisig may have made the same call
    before. 0 if only the store may know it. ChainUnreachable or ChainRefused if the chain can't be
    asked.
    """
    from scenarioctl.actions.acting import OpenOperation

    chain, shown = client.chain, format_account(account, client.chain.ss58_prefix)
    naming = SentFilter(chain=chain.name, mentions=f"0x{call_hash.hex()}")
    page = await app.store.sent().list(naming, limit=_MOST, after="")
    ours = [
        (each.block_number or 0, each, event)
        for each in page.items
        for event in _events_of(read_effects(each).get("events", ()), account, call_hash, shown)
    ]
    since = since or max((at for at, _, event in ours if event.name == "NewMultisig"), default=0)
    found = sorted(
        (each for each in ours if each[0] >= since and each[2].name in _ENDS),
        key=lambda each: each[0],
    )
    if found:
        _, ending, end = found[0 if since else -1]
    else:
        row = await client.storage("Multisig", "Multisigs", account, call_hash)
        if row is not None:
            opened = OpenOperation.read(call_hash, row)
            says = (
                f"it is open, and {len(opened.approvals)} of {threshold} have approved it: "
                f"{format_account(opened.depositor, chain.ss58_prefix)} opened it"
            )
            return OperationState(state="open", says=says, opened=opened)
        closed = await _find_end(client, account, call_hash, since) if since else None
        if closed is None:
            says = (
                "it ran, was canceled, or isn't in a block yet. An explorer of "
                f"{chain.title} shows which: the event {' or '.join(_ENDS)} of {shown} with the "
                f"call hash 0x{call_hash.hex()}"
            )
            return OperationState(state="unknown", says=says)
        ending, end = closed
    examined, _ = await examine(app, chain, ending.hash, ending)
    ending = examined if examined is not None and examined.effects else ending
    state, who = _ENDS[end.name]
    says = (
        f"it {'ran' if state == 'executed' else 'was canceled'} in block {ending.block_number}, by "
        f"{write_account(end.fields[who], chain)}"
        f"{'' if ending.state is SentState.FINALIZED else ' (not known to be final)'}. What it did "
        f"is in tx status {chain.name} {ending.hash}"
    )
    return OperationState(state=state, says=says, ending=ending)


def _events_of(events: Iterable[Any], account: bytes, call_hash: bytes, shown: str) -> list[Event]:
    """Return those of *events*, decoded or as plain data, that are about an operation."""
    return [
        event
        for event in map(read_event, events)
        if event.pallet == "Multisig"
        and isinstance(event.fields, Mapping)
        and event.fields.get("multisig") in (account, shown)
        and event.fields.get("call_hash") in (call_hash, f"0x{call_hash.hex()}")
    ]


async def _find_end(
    client: "Client", account: bytes, call_hash: bytes, since: int
) -> tuple[SentTransaction, Event] | None:
    """Return the transaction that ended the operation that block *since* opened, and its event;
    None if the blocks that the node shows don't tell.

    It is in the chain's state until it ends, so the block is found by halving.
    """
    from scenarioctl.runtime.storage_keys import storage_key
    from scenarioctl.transactions.blocks import (
        read_block,
        read_block_hashes,
        read_events,
    )
    from scenarioctl.transactions.extrinsic import extrinsic_hash

    key = storage_key(await client.table(), "Multisig", "Multisigs", (account, call_hash)).hex
    low, (high, _) = since, await client.head()

    async def is_open(number: int) -> bool:
        (block,) = await read_block_hashes(client, [number])
        return await client.call("state_getStorage", key, block) is not None

    try:
        # Opened and ended in one block, it is in no state.
        high = high if await is_open(low) else low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if await is_open(middle) else (low, middle)
        (block,) = await read_block_hashes(client, [high])
        then = await client.table_at(block)
        events = storage_key(then, "System", "Events", ()).hex
        body, raw = await client.call_many(
            [("chain_getBlock", (block,)), ("state_getStorage", (events, block))]
        )
    except ChainRefused:
        # A node that keeps the state of its newest blocks only.
        return None
    _, extrinsics = read_block(client, body, block)
    shown = format_account(account, client.chain.ss58_prefix)
    ended = [
        (extrinsics[record["phase"]["ApplyExtrinsic"]], event)
        for record in read_events(client, then, raw)
        for event in _events_of([record["event"]], account, call_hash, shown)
        if event.name in _ENDS and isinstance(record["phase"], Mapping)
    ]
    if not ended:
        return None
    extrinsic, event = ended[0]
    hash = extrinsic_hash(from_hex(extrinsic) or b"")
    ending = SentTransaction(
        chain=client.chain.name,
        hash=hash,
        sent=0,
        at_block=0,
        searched=0,
        block=block,
        block_number=high,
    )
    return ending, event


@dataclass(frozen=True, kw_only=True)
class OperationFields(BuiltFields):
    """Which open operation of a multisig is meant."""

    #: A multisig of the address book, or an account for which one acts.
    acting: _WHO = field()
    #: The hash of the call, as `multisig list` shows it.
    call_hash: Hash
    #: Chain on which it is open.
    chain: ChainName


@dataclass(frozen=True, kw_only=True)
class OperationCallFields(OperationFields):
    """The same, with its call."""

    #: The call itself, as 0x hex, if the extrinsic that opened the operation hasn't got it.
    call_data: Annotated[TransactionHex, Value("HEX", option="--call")] = ""


@dataclass(frozen=True, kw_only=True)
class ApproveOperation(OperationCallFields):
    """Build what a signatory signs to approve an operation of a multisig; the last approval that it
    needs runs the call."""

    #: Approve it though nobody knows the call: whatever it does.
    blind: bool = False


async def approve_operation(app: Application, request: ApproveOperation) -> Result[BuiltCall]:
    return await _answer(app, request, final=False)


@dataclass(frozen=True, kw_only=True)
class ExecuteOperation(OperationCallFields):
    """Build what a signatory signs to run the call of a multisig, once all other approvals that it
    needs are there."""


async def execute_operation(app: Application, request: ExecuteOperation) -> Result[BuiltCall]:
    return await _answer(app, request, final=True)


@dataclass(frozen=True, kw_only=True)
class CancelOperation(OperationFields):
    """Build what the signatory who opened an operation signs to cancel it, and to get the deposit
    back."""


@dataclass(frozen=True, kw_only=True)
class _Found:
    """An open operation, and who signs next."""

    acting: Acting
    layer: MultisigLayer
    chain: "Chain"
    table: "RuntimeTable"
    opened: "OpenOperation"
    signatory: bytes
    #: Who acts for the signatory, if that is another account of the address book.
    outer: Acting | None


async def cancel_operation(app: Application, request: CancelOperation) -> Result[BuiltCall]:
    from scenarioctl.transactions.call_builder import cancel_call

    found = await _find(app, request)
    opened, chain = found.opened, found.chain
    if opened.depositor != found.signatory:
        raise Conflict(
            f"only {format_account(opened.depositor, chain.ss58_prefix)}, who opened it, "
            f"can cancel this operation of {found.acting.name}"
        )
    call = cancel_call(opened.call_hash, found.layer, found.signatory, found.table, opened.when)
    return await _finish(app, found, call)


async def _answer(
    app: Application, request: OperationCallFields, *, final: bool
) -> Result[BuiltCall]:
    from scenarioctl.actions.acting import approve, refuse_again
    from scenarioctl.operations.views import read_unsigned
    from scenarioctl.transactions.call_builder import approve_hash_call

    found = await _find(app, request)
    opened, layer, table = found.opened, found.layer, found.table
    given = [parse_hex(request.call_data, field="call_data")] if request.call_data else []
    for each in given:
        read_unsigned(table, found.chain, each, field="call_data")
    call = await _find_call(app.client(found.chain), table, opened, given)
    if isinstance(call, str) and given:
        raise InvalidRequest(
            field="call_data",
            value=request.call_data,
            limit=80,
            problem=(
                "is another call than the one that is open, whose hash is "
                f"0x{opened.call_hash.hex()}"
            ),
        )
    left = layer.threshold - len({*opened.approvals, found.signatory})
    if final and left > 0:
        raise Conflict(
            f"the operation can't run yet: {left} more of {found.acting.name} must approve "
            "it besides this signatory"
        )
    if isinstance(call, str):
        if not (isinstance(request, ApproveOperation) and request.blind) or left <= 0:
            raise InvalidRequest(
                field="call_data",
                problem=f"is missing: nobody knows the call of this hash ({call})",
                expected="its hex from whoever opened the operation"
                + (" (or blind)" if left > 0 and not final else ""),
            )
        refuse_again(found.acting.name, found.chain, layer, found.signatory, opened)
        blind = approve_hash_call(opened.call_hash, layer, found.signatory, table, opened.when)
        return await _finish(app, found, blind)
    made = await approve(
        app, found.acting.name, found.chain, table, layer, found.signatory, call, opened
    )
    return await _finish(app, found, made.call, notes=made.notes)


async def _find(app: Application, request: OperationFields) -> _Found:
    """Return the open operation that *request* names, and who signs next; NotFound if it isn't
    open."""
    from scenarioctl.actions.acting import OpenOperation, require_signatory

    acting, layer, place = _multisig_of(app)
    chain = app.registry.find(request.chain)
    if not request.sender:
        raise InvalidRequest(
            field="sender",
            problem="is missing",
            expected=f"the signatory of {acting.name} who will sign",
        )
    call_hash = parse_hash(request.call_hash, field="call_hash")
    if isinstance(request, OperationCallFields) and request.call_data:
        parse_hex(request.call_data, field="call_data")
    outside = acting.layers[place + 1 :]
    signer = chain.account_format.parse(request.sender, field="sender")
    signatory = require_signatory(
        acting.name, layer, chain, outside[0].account if outside else signer
    )
    client = app.client(chain)
    table = await client.table()
    row: Mapping[str, Any] | None = await client.storage(
        "Multisig", "Multisigs", layer.account, call_hash
    )
    if row is None:
        state = await read_state(app, client, layer.account, call_hash, threshold=layer.threshold)
        raise NotFound(
            f"{acting.name} has no operation with the hash 0x{call_hash.hex()} open on "
            f"{chain.title}: {state.says}"
        )
    return _Found(
        acting=acting,
        layer=layer,
        chain=chain,
        table=table,
        opened=OpenOperation.read(call_hash, row),
        signatory=signatory,
        outer=replace(acting, name=await _name_of(app, chain, outside[0].account), layers=outside)
        if outside
        else None,
    )


async def _name_of(app: Application, chain: "Chain", account: bytes) -> str:
    """Return what the address book calls *account*; its address if it isn't there."""
    book = await app.store.addresses().list()
    named = (each.name for each in book if each.account == "0x" + account.hex())
    return next(named, format_account(account, chain.ss58_prefix))


async def _finish(
    app: Application,
    found: _Found,
    call: "Call",
    *,
    notes: tuple[str, ...] = (),
) -> Result[BuiltCall]:
    """Return the answer with *call*, made through whoever acts for the signatory."""
    from scenarioctl.actions.drafting import encode_draft
    from scenarioctl.transactions.extrinsic import Draft

    transaction = await encode_draft(
        app.acting_as(found.outer), found.chain, found.table, Draft(call=call)
    )
    transaction = replace(transaction, notes=(*notes, *transaction.notes))
    return await answer_call(app.acting_as(None), transaction)
