"""What a signed transaction is made of: its call, and those inside it, are looked up among the
calls that were drafted here, however it is sent."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import Conflict, InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.amounts import from_hex
from scenarioctl.model.calls import call_key
from scenarioctl.model.jobs import DraftedCall, SentFor, SentState, SentTransaction, StepCall
from scenarioctl.operations.built_transactions import read_aside
from scenarioctl.operations.sent_states import read_effects, settle
from scenarioctl.operations.stored_diagrams import open_stored
from scenarioctl.stores.rows import cut_line
from scenarioctl.stores.sent import SentFilter

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.model.jobs import MempoolEntry
    from scenarioctl.operations.broadcasts import Broadcast
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.signatures import SignedExtrinsic
    from scenarioctl.transactions.submission.outcomes import Place

#: Transactions of a scenario about which the chain is asked before it is drafted again.
_LOOKED_AT = 8
#: Names all transactions of a scenario, signed as one, in place of a step.
ALL = "all"


def drafted_call(
    app: Application, scenario: str, node: str, transaction: "UnsignedTransaction"
) -> DraftedCall:
    return DraftedCall(
        chain=transaction.chain,
        call=transaction.key,
        scenario=scenario,
        node=node,
        part=transaction.part,
        drafted=app.clock(),
    )


def call_of_draft(entry: "MempoolEntry") -> DraftedCall:
    """Return the call of a draft of a job."""
    from scenarioctl.transactions.extrinsic import length_size, looks_like_extrinsic

    draft, data = entry.draft, from_hex(entry.draft.tx) or b""
    if looks_like_extrinsic(data):
        # A length and a version stand before the call.
        data = data[length_size(data) + 1 :]
    return DraftedCall(
        chain=draft.chain,
        call=draft.call or call_key(data),
        scenario=entry.job,
        node=draft.node,
        draft=entry.seq,
        drafted=draft.date,
    )


async def note_drafted(app: Application, drafted: Iterable[DraftedCall]) -> None:
    """Remember what is handed out to be signed; what is known already costs no write."""
    known, new = set(), {_name(each): each for each in drafted}
    for chain in {each.chain for each in new.values()}:
        calls = {each.call for each in new.values() if each.chain == chain}
        known |= {_name(each) for each in await app.store.sent().find_drafted(chain, calls)}
    if some := [each for name, each in new.items() if name not in known]:
        await app.store.sent().note_drafted(some)


def _name(drafted: DraftedCall) -> tuple[str | int, ...]:
    return drafted.call, drafted.scenario, drafted.node, drafted.draft, drafted.signer


async def find_made(
    app: Application,
    request: "Broadcast",
    chain: "Chain",
    table: "RuntimeTable",
    signed: "SignedExtrinsic",
    hash: str,
) -> tuple[SentFor, ...]:
    """Return what *signed*, the transaction *hash*, is made of.

    A scenario, or a job and its draft, that *request* names choose between equals; InvalidRequest
    if its call is not of these, Conflict if it pays what the payout has no longer. What only
    approves, or cancels, what a multisig is known to have open is made of nothing: that pays once.
    """
    keys = await read_aside(app, signed.call_data, _read_keys, table, signed)
    calls = {call for _, some, _ in keys for call in some}
    return await _match(app, keys, await _find_drafted(app, request, chain, calls), signed, hash)


def _read_keys(
    table: "RuntimeTable", signed: "SignedExtrinsic"
) -> "list[tuple[Place, set[str], bool]]":
    """Return where each call of a transaction stands, how a draft of it is called, and whether it
    is one that a multisig has open."""
    from scenarioctl.transactions.submission.outcomes import walk_hashes

    rows = walk_hashes(table, signed.call, signed.account)
    open_at = [
        row.place
        for row, call in rows
        if call and (call.args.get("maybe_timepoint") or call.args.get("timepoint"))
    ]
    return [
        (
            row.place,
            {row.hash, f"{row.hash}/0x{row.account.hex()}" if row.account else row.hash},
            any(row.place[: len(outer)] == outer for outer in open_at),
        )
        for row, _ in rows
    ]


async def _match(
    app: Application,
    keys: "Sequence[tuple[Place, set[str], bool]]",
    found: list[DraftedCall],
    signed: "SignedExtrinsic",
    hash: str,
) -> tuple[SentFor, ...]:
    """Return which of the drafts *found* the transaction *hash*, with these *keys*, is made of."""
    signer = "" if signed.account is None else f"0x{signed.account.hex()}"
    # Of the same draft, what was made for this signer comes first; then those of jobs, the newest.
    found = sorted(found, key=lambda each: (each.signer != signer, each.draft == 0))
    drafts = list({_name(replace(each, signer="")): each for each in found[::-1]}.values())[::-1]
    standing = await _read_standing(app, drafts, but=hash)
    made: list[SentFor] = []
    covered: list[Place] = []
    for place, some, is_open in keys:
        equal = [each for each in drafts if each.call in some]
        if not equal or any(place[: len(outer)] == outer for outer in covered):
            continue
        covered.append(place)
        equal = [each for each in equal if each.signer == signer] or equal
        if is_open and any(_is_sent(each, standing) for each in equal):
            continue
        equal = [each for each in equal if not _is_sent(each, standing)] or equal
        chosen: dict[str, DraftedCall] = {}
        for each in equal:
            chosen.setdefault(each.scenario, each)
        for each in chosen.values():
            drafts.remove(each)
            step = {name: getattr(each, name) for name in StepCall.__dataclass_fields__}
            made.append(SentFor(**step, certain=len(chosen) == 1))
    return tuple(made)


def _is_sent(drafted: DraftedCall, standing: Sequence[SentFor]) -> bool:
    """Tell whether one of *standing* certainly does what *drafted* does."""
    return any(
        each.certain
        and each.pays(drafted.scenario, drafted.node)
        and drafted.draft in (0, each.draft)
        for each in standing
    )


async def _read_standing(
    app: Application, drafts: Sequence[DraftedCall], *, but: str
) -> list[SentFor]:
    """Return what was sent of the scenarios and the drafts of *drafts* and stands, without the
    transaction *but*."""
    sent = app.store.sent()
    pairs = [
        *await sent.of_scenarios({each.scenario for each in drafts}),
        *await sent.of_drafts({each.draft for each in drafts if each.draft}),
    ]
    return [made for made, each in pairs if each.hash != but and each.stands(made)]


async def _find_drafted(
    app: Application, request: "Broadcast", chain: "Chain", calls: set[str]
) -> list[DraftedCall]:
    """Return what was drafted with one of these *calls*, of what *request* names."""
    from scenarioctl.operations.sources import find_draft

    if request.job != "":
        entry = await find_draft(app, request.job, request.draft)
        drafted, name = call_of_draft(entry), f"draft {entry.seq} of job {shorten(entry.job)}"
        if drafted.chain == chain.name and drafted.call in calls:
            return [drafted]
        differs = "the call of {name} differs. Sign that draft, or leave job and draft out"
        other = f"{name} is for another chain, not for {chain.title}"
        raise InvalidRequest(
            f"draft {entry.seq} is not this transaction: "
            f"{differs.format(name=name) if drafted.chain == chain.name else other}"
        )
    found = list(await app.store.sent().find_drafted(chain.name, calls))
    if request.scenario != "":
        node = await find_node(app, request.scenario, request.step)
        found = [each for each in found if each.scenario == request.scenario]
        if not any(node in (None, each.node) for each in found):
            found = await _draft_anew(app, request.scenario)
        found = [each for each in found if each.call in calls and node in (None, each.node)]
        if not found:
            which = "any step" if node is None else f"step {shorten(node)}" if node else "all steps"
            raise InvalidRequest(
                f"the transaction doesn't do what {which} of scenario {request.scenario} does now: "
                "leave scenario out, or make its payload again"
            )
    return await _check_changed(app, found)


async def find_node(app: Application, scenario: str, step: int | str) -> str | None:
    """Return the node of *step*, empty for all; None if any of them is meant."""
    from scenarioctl.actions.drafts import find_drafting_node

    diagram = await open_stored(app, scenario)
    return None if step == "" else "" if step == ALL else find_drafting_node(diagram, step)


async def _check_changed(app: Application, found: list[DraftedCall]) -> list[DraftedCall]:
    """Return *found*; Conflict for a call of a payout that was changed since, and pays something
    else now."""
    from scenarioctl.operations.payout_records import payouts_of
    from scenarioctl.operations.stored_diagrams import open_blob

    stored = await app.store.find_scenarios(list({each.scenario for each in found}))
    for id, scenario in stored.items():
        old = {
            each.call
            for each in found
            if each.scenario == id and not each.draft and each.drafted < scenario.updated
        }
        if (
            old
            and payouts_of(await open_blob(app, scenario.blob, id))
            and not old <= {each.call for each in await _draft_anew(app, id)}
        ):
            raise Conflict(
                f"payout {id} was changed since this transaction was made, and pays something else "
                "now: make its payload again; nothing was sent"
            )
    return found


async def _draft_anew(app: Application, scenario: str) -> list[DraftedCall]:
    """Return the calls that *scenario* drafts now, and remember them."""
    from scenarioctl.actions.batching import draft_together
    from scenarioctl.actions.drafts import draft_each

    diagram = await open_stored(app, scenario)
    view, plain = app.acting_as(None), diagram.acted_by(None)
    made = [
        (node, outcome.transaction)
        async for node, outcome in draft_each(view, plain)
        if not isinstance(outcome, ScenarioctlError)
    ]
    with suppress(ScenarioctlError):
        made.append(("", (await draft_together(view, plain))[0]))
    # Who acts for another account has the call in one around it.
    account = None if diagram.acting is None else diagram.acting.account
    drafted = [
        replace(drafted_call(app, scenario, node, each), call=call_key(each.call_data, account))
        for node, each in made
    ]
    await note_drafted(app, drafted)
    return drafted


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What the chains tell of what was drafted of a scenario."""

    #: Calls that their signer surely didn't send.
    unsent: tuple[DraftedCall, ...] = ()
    warnings: tuple[str, ...] = ()


async def look(app: Application, scenario: str) -> Looked:
    """Ask the chains what became of what was sent of *scenario*, and whether another wallet sent
    what was drafted of it: both are stored.  A chain that can't be asked tells nothing."""
    from scenarioctl.chains.addresses import format_account
    from scenarioctl.operations.transaction_status import examine, is_settled

    if app.settings.offline:
        return Looked()
    pairs = await app.store.sent().of_scenarios([scenario])
    for made, sent in pairs[:_LOOKED_AT]:
        if sent.stands(made) and not is_settled(sent):
            with suppress(ScenarioctlError):
                await examine(app, app.registry.find(sent.chain), sent.hash)
    drafted = [each for each in await app.store.sent().drafted_of(scenario) if each.signer]
    unsent: list[DraftedCall] = []
    warnings: list[str] = []
    for name, signer in dict.fromkeys((each.chain, each.signer) for each in drafted):
        own = [each for each in drafted if (each.chain, each.signer) == (name, signer)]
        with suppress(ScenarioctlError):
            chain = app.registry.find(name)
            if await _search(app, chain, signer, own):
                unsent += own
            else:
                address = format_account(from_hex(signer) or b"", chain.ss58_prefix)
                warnings.append(
                    f"{address} has signed something else since this was drafted, and not all "
                    f"blocks of {chain.title} since then are searched for it yet: it may have been "
                    "sent. Ask again to search more, or tell it: tx send of the same bytes with "
                    "the scenario"
                )
    return Looked(unsent=tuple(unsent), warnings=tuple(warnings))


async def keep_elsewhere(app: Application, sent: SentTransaction) -> SentTransaction | None:
    """Store *sent*, which another wallet sent, when its block was made; return the one that is
    stored already, if there is one."""
    time = read_effects(sent).get("time")
    return await app.store.sent().add(
        settle(replace(sent, sent=app.clock() if time is None else time * 10**6))
    )


async def _search(
    app: Application, chain: "Chain", signer: str, drafted: Sequence[DraftedCall]
) -> bool:
    """Store what another wallet sent of *drafted*, which *signer* was to sign; return whether all
    that they have signed since is known."""
    from scenarioctl.operations.transaction_status import examine
    from scenarioctl.operations.views import say_transaction
    from scenarioctl.transactions.blocks import read_heads
    from scenarioctl.transactions.extrinsic import extrinsic_hash
    from scenarioctl.transactions.signing.signatures import decode_signed_extrinsic
    from scenarioctl.transactions.signing.signing_context import read_next_nonce
    from scenarioctl.transactions.submission.tracking import AT_ONCE, find_block

    client, account = app.client(chain), from_hex(signer) or b""
    table, heads = await client.table(), await read_heads(client)
    after, first = await read_next_nonce(client, account), min(each.nonce or 0 for each in drafted)
    wanted = SentFilter(signer=signer, chain=chain.name)
    page = await app.store.sent().list(wanted, limit=AT_ONCE, after="")
    ours = {each.nonce for each in page.items if each.block}
    if ours.issuperset(range(first, after)):
        return True
    if any(each.at_block is None for each in drafted):
        return False
    calls = {each.call for each in drafted}

    def is_wanted(data: bytes) -> bool:
        # Few extrinsics have the account in them.
        with suppress(InvalidRequest):
            if account and account in data:
                signed = decode_signed_extrinsic(table, data)
                keys = _read_keys(table, signed)
                return signed.account == account and any(calls & each for _, each, _ in keys)
        return False

    equal = list(await app.store.sent().find_drafted(chain.name, calls))
    start = min(each.at_block or 0 for each in drafted)
    last = min(heads.best, start + AT_ONCE)
    while (found := await find_block(client, is_wanted, range(start + 1, last + 1))) is not None:
        start, block, data = found
        signed, hash = decode_signed_extrinsic(table, data), extrinsic_hash(data)
        sent = SentTransaction(
            chain=chain.name,
            hash=hash,
            sent=app.clock(),
            signer=signer,
            nonce=signed.nonce,
            at_block=start,
            searched=start,
            state=SentState.IN_BLOCK,
            block=block,
            block_number=start,
            made_of=await _match(app, _read_keys(table, signed), equal, signed, hash),
            says=cut_line(say_transaction(app, chain, table, signed.call)),
        )
        await keep_elsewhere(app, (await examine(app, chain, hash, sent))[0] or sent)
    nonce = after if last == heads.best else first
    searched = [
        replace(each, nonce=nonce, at_block=max(each.at_block or 0, min(last, heads.finalized)))
        for each in drafted
    ]
    await app.store.sent().note_drafted(searched)
    return last == heads.best
