"""Calls inside a call that run only if another one fails, or once others approve."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from scenarioctl.transactions.dispatch_errors import explain_dispatch_error

if TYPE_CHECKING:
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.inner_calls import InnerCall

#: Events of a multisig whose call waits for more approvals.
_WAITING = ("NewMultisig", "MultisigApproval")


@dataclass(frozen=True, kw_only=True)
class PendingCall:
    """What a multisig account does once the last signatory approves."""

    account: bytes
    #: None if only its hash is given.
    call: "Call | None"


def pending_calls(
    calls: "Sequence[InnerCall]", table: "RuntimeTable", events: Sequence["Event"]
) -> Iterator[PendingCall]:
    """Give the calls among *calls* that now wait for approvals, as *events* tell."""
    waiting = [event.fields for event in events if event.pallet == "Multisig" and event.name in _WAITING]
    if not waiting:
        return
    known = {
        blake2b(table.encode_call(found.call), digest_size=32).digest(): found.call
        for found in calls
        if found.outer is not None and (found.outer.pallet, found.outer.method) == ("Multisig", "as_multi")
    }
    for fields in waiting:
        yield PendingCall(account=fields["multisig"], call=known.get(fields["call_hash"]))


def describe_fallbacks(table: "RuntimeTable", chain: str, events: Sequence["Event"]) -> list[str]:
    """Return what *events* tell of calls that have a fallback: which of the two ran."""
    said = []
    for event in events:
        if str(event) == "Utility.IfElseFallbackCalled":
            error = explain_dispatch_error(table, event.fields["main_error"])
            said.append(f"the main call of Utility.if_else fails on {chain} ({error}), so its fallback runs")
        elif str(event) == "Utility.IfElseMainSuccess":
            said.append(
                f"the main call of Utility.if_else succeeds on {chain}. If it fails when it is included, its fallback runs, and the fallback was not simulated"
            )
    return said
