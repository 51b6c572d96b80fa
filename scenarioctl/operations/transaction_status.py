"""What became of a sent transaction: the store remembers that it was sent, and the chain is asked
for the rest."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest, ScenarioctlError
from scenarioctl.model.amounts import from_hex, to_whole
from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.model.json_types import (
    SHOWN,
    AmountAnswer,
    Column,
    Digits,
    Hex,
    HoldingAnswer,
    Timestamp,
    timestamp,
)
from scenarioctl.model.request_fields import ChainName
from scenarioctl.operations.results import Result
from scenarioctl.operations.sent_states import (
    Became,
    Standing,
    TransactionCost,
    costs_of,
    moved_by,
    settle,
    standing_of,
    sum_by_asset,
)
from scenarioctl.operations.sent_states import read_effects as read_effects
from scenarioctl.transactions.submission.outcomes import Outcome, end_pending

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain

__all__ = ["transaction_status"]


@dataclass(frozen=True, kw_only=True)
class TransactionStatus:
    """Show what became of a sent transaction: its block, its fee and events, and its arrival on
    other chains.

    A transaction that wasn't sent from here is looked for in the newest 64 blocks.
    """

    chain: ChainName
    #: blake2b-256 of the transaction's bytes, as the answer of a broadcast has it.
    hash: str


class ArrivalStatus(TypedDict):
    """A message of the transaction to another chain."""

    #: Its name, or its location if it isn't in the registry.
    chain: Annotated[str, SHOWN]
    state: Annotated[Literal["waiting", "arrived", "failed", "unknown"], SHOWN]
    #: The block there that executed the message.
    block_number: Annotated[int | None, Column("block")]
    #: Why it failed, or why it isn't known; empty otherwise.
    reason: Annotated[str, SHOWN]
    #: What it gave there to the accounts that it pays; empty before it is executed, and if that
    #: isn't known.
    received: Annotated[list[HoldingAnswer], SHOWN]
    #: How many endpoints of the chain say that it arrived, or failed; null before.
    asked: Literal[1, 2] | None


class CreatedAccount(TypedDict):
    """An account without a key, a pure proxy, that the transaction made."""

    #: As the chain writes addresses.
    address: Annotated[str, SHOWN]
    #: Who is its proxy, and of which type.
    proxy: Annotated[str, SHOWN]
    type: Annotated[str, SHOWN]
    #: Which of several it is that the same proxy made in one transaction.
    index: int
    #: The block and the transaction in it, as the chain's proxies count blocks: `24000000-2`. Empty
    #: if that isn't known.
    at: Annotated[str, SHOWN]


class TransactionState(TypedDict):
    """What is known of a transaction; null and empty where nothing is."""

    chain: str
    hash: "Hex"
    #: `uncertain`: it may have been sent. `expired`: no block can include it any more. `unknown`:
    #: it wasn't sent from here, and isn't in the newest 64 blocks.
    state: Literal["unknown", "uncertain", "sent", "in-block", "finalized", "expired"]
    #: What became of it: `failed` if it did nothing, `partly-failed` if some of the calls inside it
    #: failed, `pending` while a multisig collects approvals, `canceled`, `arrived`, `replaced` if
    #: another transaction has its nonce, else as `state`.
    became: Became
    #: The same in a sentence.
    summary: str
    #: How many endpoints it rests on: 2 once a second one says that it is final too; null before it
    #: is in a block.
    asked: Literal[1, 2] | None
    #: When it was sent; null if it wasn't sent from here.
    sent: Annotated[Timestamp | None, SHOWN]
    #: What it does, in a sentence; empty if it wasn't sent from here.
    says: str
    #: The scenario that it was made of; empty if it was made of none, or that isn't known.
    scenario: str
    #: Who signed it, as the chain writes addresses; empty if that isn't known.
    signer: Annotated[str, SHOWN]
    nonce: Annotated[int | None, SHOWN]
    block: Annotated[Hex | None, SHOWN]
    block_number: Annotated[int | None, SHOWN]
    #: When its block was made; null if that isn't known.
    block_time: "Timestamp | None"
    extrinsic_index: int | None
    #: Its page at an explorer; null before it is in a block, and if the chain has none.
    explorer: Annotated[str | None, SHOWN]
    #: False if it did nothing in its block; null if a part of it failed or is unknown.
    success: bool | None
    #: In the chain's native asset.
    fee: "Digits | None"
    #: `fee` in whole tokens, with the symbol; empty if it isn't known.
    fee_human: Annotated[str, Column("transaction fee")]
    #: The fee if it was paid in another asset.
    fee_paid_in: AmountAnswer | None
    #: What the signer has less by it, fees included; null if that isn't known.
    left: Annotated[list[AmountAnswer] | None, Column("left the signer")]
    #: The same without the fee and what delivery cost; empty if that isn't known.
    moved: list[AmountAnswer]
    #: What the others that make its calls have less: multisigs, proxied accounts.
    spent: Annotated[list[HoldingAnswer], Column("left others")]
    #: What these, the signer and the accounts that its calls name have more by it, on its chain;
    #: null if that isn't known.
    received: Annotated[list[HoldingAnswer] | None, SHOWN]
    #: What is known of what it cost, in its parts: `execution` once all messages arrived.
    costs: Annotated[list[TransactionCost], SHOWN]
    #: The sum of `costs`, by asset.
    cost: list[AmountAnswer]
    #: The pure proxies that it made: `address add NAME --proxy-of ADDRESS` names one.
    created: Annotated[list[CreatedAccount], SHOWN]
    events: list[Any]
    #: Why it failed, or a part of it; empty unless it did.
    error: Annotated[str, SHOWN]
    #: What went wrong inside a transaction that succeeded, like a call of a batch.
    notes: list[str]
    #: The last block that may include it; null if it's valid forever, or wasn't sent from here.
    valid_until_block: Annotated[int | None, SHOWN]
    #: The last final block that was searched for it; null if it wasn't sent from here.
    searched_block: int | None
    #: The job and the draft that it was made of.
    job: Annotated[str, SHOWN]
    draft: Annotated[int | None, SHOWN]
    arrivals: Annotated[list[ArrivalStatus], SHOWN]
    #: Whether nothing of this can change any more.
    settled: bool


async def transaction_status(
    app: Application, request: TransactionStatus
) -> Result[TransactionState]:
    """Ask the chain, and its destinations, within bounds: another call goes on where this one
    stopped."""
    chain = app.registry.find(request.chain)
    hash = read_hash(request.hash)
    found, warnings = await examine(app, chain, hash)
    answer = describe_status(chain, hash, found)
    return Result(answer=answer, notes=_say_alone(app, answer), warnings=warnings)


def _say_alone(app: Application, answer: TransactionState) -> tuple[str, ...]:
    """Return the note about chains of which only one endpoint, that isn't trusted, says what can't
    change any more."""
    from scenarioctl.chains.confirmation import say_alone

    names = [answer["chain"]] if (answer["state"], answer["asked"]) == ("finalized", 1) else []
    names += [each["chain"] for each in answer["arrivals"] if each["asked"] == 1]
    chains = map(app.registry.find, dict.fromkeys(names))
    return say_alone(chain.title for chain in chains if not chain.trusted)


def read_hash(text: str) -> str:
    data = from_hex(text)
    if data is None or len(data) != 32:
        raise InvalidRequest(
            field="hash",
            value=text,
            limit=80,
            problem="is not the hash of a transaction",
            expected="0x and 64 hex digits",
        )
    return "0x" + data.hex()


async def examine(
    app: Application, chain: "Chain", hash: str, former: SentTransaction | None = None
) -> tuple[SentTransaction | None, tuple[str, ...]]:
    """Return the transaction as the chains show it now, or None if they don't, and warnings.

    *former* is what is known of one that the store doesn't have.
    """
    stored = await app.store.sent().get(chain.name, hash)
    known = stored or former
    if known is not None and is_settled(known):
        return known, ()
    found, warnings = await _ask_chain(app, chain, hash, known)
    if found is None:
        return None, warnings
    found = await _ask_destinations(app, chain, found)
    found = settle(await _ask_multisigs(app, chain, found))
    if stored is not None and found != stored:
        try:
            await app.store.sent().change(found)
        except ScenarioctlError as error:
            warnings = (*warnings, f"The store doesn't remember this: {error}")
    return found, warnings


async def _ask_chain(
    app: Application, chain: "Chain", hash: str, known: SentTransaction | None
) -> tuple[SentTransaction | None, tuple[str, ...]]:
    from scenarioctl.chains.confirmation import EndpointsDisagree
    from scenarioctl.transactions.submission.tracking import confirm_final, find_unknown, track

    if known is not None and known.state is SentState.FINALIZED and known.effects:
        return known, ()
    try:
        client = app.client(chain)
        found, warnings = (
            await find_unknown(client, chain.name, hash, assets=app.assets)
            if known is None
            else await track(client, known, assets=app.assets)
        )
        if found is None or found.state is not SentState.FINALIZED or not found.effects:
            return found, warnings
        return await confirm_final(client, found, assets=app.assets)
    except EndpointsDisagree as error:
        if known is None:
            raise
        return known, (f"This may be out of date: {error.statement}",)
    except (ChainUnreachable, ChainRefused) as error:
        if known is None:
            raise
        return known, (
            f"{chain.title} could not be asked, so this may be out of date: {error.statement}",
        )


async def _ask_destinations(
    app: Application, chain: "Chain", transaction: SentTransaction
) -> SentTransaction:
    effects = read_effects(transaction)
    arrivals = effects.get("arrivals", [])
    if all(each["settled"] for each in arrivals):
        return transaction
    from scenarioctl.transactions.submission.arrivals import (
        MessageSender,
        confirm_arrival,
        look_for,
    )

    sender = MessageSender(
        chain=chain,
        account=transaction.account,
        seconds=max(app.clock() - transaction.sent, 0) / 10**9,
    )
    asked = []
    for each in arrivals:
        if not each["settled"]:
            try:
                client = app.client(app.registry.find(each["chain"]))
                found = await look_for(client, each, sender, assets=app.assets)
                each = await confirm_arrival(client, each, found, sender, assets=app.assets)
            except ScenarioctlError as error:
                reason = (
                    f"{app.registry.title_of(each['chain'])} could not be asked: {error.statement}"
                )
                each = {**each, "state": "unknown", "reason": reason}
        asked.append(each)
    return replace(transaction, effects=json.dumps({**effects, "arrivals": asked}))


async def _ask_multisigs(
    app: Application, chain: "Chain", transaction: SentTransaction
) -> SentTransaction:
    """Return *transaction* with what became of the calls for which a multisig collects approvals,
    as far as the store or the chain tells."""
    from scenarioctl.operations.multisigs import read_state

    effects = read_effects(transaction)
    told = [Outcome.read(each) for each in effects.get("outcomes", ())]
    pending = {each.place for each in told if each.state == "pending"}
    if transaction.state is not SentState.FINALIZED or not pending:
        return transaction
    for each in told:
        # What is inside a call that waits ends with it.
        if each.place not in pending or each.place[:-1] in pending or each.account is None:
            continue
        threshold = int(each.why.split()[-2])
        try:
            found = await read_state(
                app,
                app.client(chain),
                each.account,
                bytes.fromhex(each.hash[2:]),
                threshold=threshold,
                since=transaction.block_number or 0,
            )
        except (ChainUnreachable, ChainRefused):
            continue
        if found.opened is not None:
            why = f"{len(found.opened.approvals)} of {threshold} approved"
            told = [replace(row, why=why) if row == each else row for row in told]
        elif found.ending is None or found.ending.state is SentState.FINALIZED:
            ending = {} if found.ending is None else read_effects(found.ending)
            told = end_pending(told, each, map(Outcome.read, ending.get("outcomes", ())))
    effects["outcomes"] = [each.write() for each in told]
    return replace(transaction, effects=json.dumps(effects))


def is_settled(transaction: SentTransaction) -> bool:
    """Return whether nothing can change any more."""
    if transaction.state is SentState.EXPIRED:
        return True
    if transaction.state is not SentState.FINALIZED or not transaction.effects:
        return False
    effects = read_effects(transaction)
    waits = any(state == "pending" for *_, state, _ in effects.get("outcomes", ()))
    return not waits and all(each["settled"] for each in effects.get("arrivals", []))


def block_time(effects: Mapping[str, Any]) -> "Timestamp | None":
    """Return when the block of a transaction was made; None if that isn't known."""
    time = effects.get("time")
    return None if time is None else timestamp(time * 10**6)


def say_fee(fee: "int | str | None", chain: "Chain") -> str:
    """Return a *fee*, in the smallest unit of the native asset, in whole tokens; empty for None."""
    return "" if fee is None else f"{to_whole(int(fee), chain.decimals)} {chain.symbol}"


def describe_status(
    chain: "Chain", hash: str, transaction: SentTransaction | None
) -> TransactionState:
    from scenarioctl.chains.addresses import format_account

    known = transaction or SentTransaction(
        chain=chain.name, hash=hash, sent=0, at_block=0, searched=0
    )
    effects = read_effects(known)
    standing = standing_of(known)
    fee, paid = effects.get("fee"), effects.get("fee_paid_in")
    costs, origin = costs_of(effects, chain), known.origin
    return {
        "chain": chain.name,
        "hash": hash,
        "state": "unknown" if transaction is None else known.state.value,
        "became": "unknown" if transaction is None else standing.became,
        "summary": _summarize(chain, transaction, standing),
        "asked": effects.get("asked", 1) if known.block else None,
        "sent": timestamp(known.sent) if known.sent else None,
        "says": known.says,
        "scenario": origin.scenario,
        "signer": format_account(known.account, chain.ss58_prefix) if known.account else "",
        "nonce": known.nonce,
        "block": known.block or None,
        "block_number": known.block_number,
        "block_time": block_time(effects),
        "extrinsic_index": effects.get("extrinsic_index"),
        "explorer": chain.explorer_link(hash) if known.block else None,
        "success": standing.success,
        "fee": fee,
        "fee_human": say_fee(fee, chain),
        "fee_paid_in": paid,
        "left": effects.get("left"),
        "moved": moved_by(effects, chain),
        "spent": effects.get("spent", []),
        "received": effects.get("received"),
        "costs": costs,
        "cost": sum_by_asset(costs),
        "created": [
            _describe_created(each, known, effects)
            for each in _fields_of("Proxy", "PureCreated", effects)
        ],
        "events": effects.get("events", []),
        "error": standing.error,
        "notes": effects.get("notes", []),
        "valid_until_block": known.valid_until,
        "searched_block": known.searched if known.sent else None,
        "job": origin.job,
        "draft": origin.draft or None,
        "arrivals": [_describe_arrival(each) for each in effects.get("arrivals", [])],
        "settled": transaction is not None and is_settled(transaction),
    }


def _fields_of(pallet: str, name: str, effects: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the fields of the events of that *name*, as they are stored."""
    some = [each.get(pallet) for each in effects.get("events", []) if isinstance(each, Mapping)]
    return [
        each[name]
        for each in some
        if isinstance(each, Mapping) and isinstance(each.get(name), Mapping)
    ]


def _describe_created(
    fields: Mapping[str, Any], transaction: SentTransaction, effects: Mapping[str, Any]
) -> CreatedAccount:
    # Runtimes whose proxies count the blocks of another chain say which one it was.
    at = (
        fields.get("at", transaction.block_number),
        fields.get("extrinsic_index", effects.get("extrinsic_index")),
    )
    return {
        "address": fields["pure"],
        "proxy": fields["who"],
        "type": str(fields["proxy_type"]),
        "index": int(fields["disambiguation_index"]),
        "at": "" if None in at else f"{at[0]}-{at[1]}",
    }


def _describe_arrival(arrival: Mapping[str, Any]) -> ArrivalStatus:
    return {
        "chain": arrival["chain"],
        "state": arrival["state"],
        "block_number": arrival["block_number"],
        "reason": arrival["reason"],
        "received": arrival.get("received", []),
        "asked": arrival.get("asked"),
    }


def _summarize(chain: "Chain", transaction: SentTransaction | None, standing: Standing) -> str:
    """Return the state of the transaction in a sentence."""
    if transaction is None:
        return f"It wasn't sent from here, and it isn't in the newest blocks of {chain.title}."
    until = ""
    if transaction.valid_until is not None:
        until = f" It's valid until block {transaction.valid_until}."
    if transaction.state is SentState.UNCERTAIN:
        return (
            f"It may have been sent: {chain.title} didn't confirm it. It isn't in a block "
            f"yet.{until}"
        )
    if transaction.state is SentState.SENT:
        return f"It was sent to {chain.title}, and isn't in a block yet.{until}"
    if standing.became == "replaced":
        return f"No block of {chain.title} has it, and another transaction has its nonce."
    if transaction.state is SentState.EXPIRED:
        last = transaction.valid_until
        return (
            f"It expired: {chain.title} didn't include it by block {last}, the last one that "
            "it was valid for."
        )
    final = "finalized" if transaction.state is SentState.FINALIZED else "not finalized yet"
    more = "" if standing.became == transaction.state.value else f", {standing.words}"
    spent = ", and its fee is spent" if standing.success is False else ""
    return f"It is in block {transaction.block_number} of {chain.title}, {final}{more}{spent}."
