"""What became of a transaction that was sent, as one state: lists, tables, warnings and exit codes
read it here."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from scenarioctl.model.jobs import SentFor, SentState, SentTransaction
from scenarioctl.transactions.submission.outcomes import LATER, Outcome

#: `replaced`: another transaction of its account has its nonce. `arrived`: it is final, and so is
#: what it sent to other chains. `failed`: it did nothing, or what it sent failed on its way.
#: `partly-failed`: some of the calls inside it failed. `pending`: a multisig collects approvals.
#: `canceled`: it doesn't any more. `unknown`: its block doesn't tell what became of its calls.
Became = Literal[
    "uncertain",
    "sent",
    "expired",
    "replaced",
    "in-block",
    "finalized",
    "arrived",
    "failed",
    "partly-failed",
    "pending",
    "canceled",
    "unknown",
]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What became of a transaction, as it was last seen."""

    became: Became
    #: The same in words; of one in a block what stands behind `in block 20, `.
    words: str
    #: False if it did nothing in its block; None before its block, and if a part of it failed or is
    #: unknown.
    success: bool | None = None
    #: Why it failed; empty unless it, or a part of it, did.
    error: str = ""


#: Of those that are in no block.
_BEFORE: Mapping[SentState, str] = {
    SentState.UNCERTAIN: "whether a node took it isn't known",
    SentState.SENT: "in no block when last looked at",
    SentState.EXPIRED: "expired, in no block",
}


def read_effects(transaction: SentTransaction) -> dict[str, Any]:
    """Return what the transaction did in its block; empty if that isn't known."""
    try:
        effects = json.loads(transaction.effects or "{}")
    except ValueError:
        return {}
    return effects if isinstance(effects, dict) else {}


def standing_of(sent: SentTransaction) -> Standing:
    """Return what became of *sent* as a whole: the innermost results count."""
    effects = read_effects(sent)
    if sent.state in _BEFORE and effects.get("replaced"):
        words = "in no block, and another transaction of its account has its nonce"
        return Standing(became="replaced", words=words)
    if sent.state in _BEFORE:
        return Standing(became=sent.state.value, words=_BEFORE[sent.state])
    success, arrivals = effects.get("success"), effects.get("arrivals", ())
    leaves = innermost(effects)
    count = Counter(each.state for each in leaves)
    why = {each.state: each.why for each in reversed(leaves)}
    lost = [f"{each['chain']}: {each['reason']}" for each in arrivals if each["state"] == "failed"]
    is_final = sent.state is SentState.FINALIZED
    if success is False:
        return Standing(
            became="failed", words="where it failed", success=False, error=effects.get("error", "")
        )
    if count["failed"]:
        undone, error = count["failed"] + count["skipped"], why["failed"]
        if undone == len(leaves):
            words = f"where the call inside it failed: {error}"
            return Standing(became="failed", words=words, success=False, error=error)
        words = f"where {undone} of {len(leaves)} calls inside it were not done: {error}"
        return Standing(became="partly-failed", words=words, error=error)
    if lost:
        words = f"and what it sent failed on {lost[0]}"
        return Standing(became="failed", words=words, success=success, error=lost[0])
    if count["pending"]:
        return Standing(became="pending", words=why["pending"], success=success)
    if count["canceled"]:
        words = "and the call of the multisig is canceled"
        return Standing(became="canceled", words=words, success=success)
    if count["unknown"]:
        return Standing(became="unknown", words="and what became of a call inside it isn't known")
    if is_final and arrivals and all(each["state"] == "arrived" for each in arrivals):
        return Standing(became="arrived", words="finalized, and arrived", success=success)
    words = "finalized" if is_final else "not finalized when last looked at"
    return Standing(became=sent.state.value, words=words, success=success)


def innermost(effects: Mapping[str, Any]) -> list[Outcome]:
    """Return what became of each call of a transaction that holds no other one, by its stored
    *effects*; not of those that run later."""
    found = [Outcome.read(each) for each in effects.get("outcomes", ())]
    outer = {each.place[:-1] for each in found if each.place}
    return [each for each in found if each.place not in outer and each.why != LATER]


def settle(sent: SentTransaction) -> SentTransaction:
    """Return *sent* with what became of each call that it is made of, as its effects tell."""
    effects = read_effects(sent)
    told = [Outcome.read(each) for each in effects.get("outcomes", ())]
    made_of = []
    for made in sent.made_of:
        own = next((each for each in told if made.call.startswith(each.hash)), None)
        if own is not None:
            # The next one with the same call has the next of equal calls.
            told.remove(own)
        state = str(own.state) if own is not None else "unknown" if effects else ""
        state = "failed" if effects.get("success") is False else state
        made_of.append(
            replace(made, outcome="replaced" if standing_of(sent).became == "replaced" else state)
        )
    return replace(sent, made_of=tuple(made_of))


def outcome_of(sent: SentTransaction, made: SentFor | None = None) -> str:
    """Return what became of *sent*, as it was last seen: `in block 20, finalized`; of one that may
    be made of something else than *made* says, that."""
    if made is not None and not made.certain:
        return "something else has the same call, and it may be made of that"
    words = standing_of(sent).words
    return words if sent.state in _BEFORE else f"in block {sent.block_number}, {words}"
