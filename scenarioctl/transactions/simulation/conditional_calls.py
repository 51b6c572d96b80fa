"""Calls inside a call that run only if another one fails, or once others approve."""

from collections.abc import AsyncIterator
from hashlib import blake2b
from typing import TYPE_CHECKING

from scenarioctl.transactions.events import explain_dispatch_error

if TYPE_CHECKING:
    from scenarioctl.model.calls import Call
    from scenarioctl.transactions.simulation.trial import Trial

#: Events of a multisig whose call waits for more approvals.
_WAITING = ("NewMultisig", "MultisigApproval")


async def pending_calls(trial: "Trial") -> AsyncIterator[tuple[bytes, "Call | None"]]:
    """Give what multisig accounts do once the last signatory approves, as the events tell: the account, and the call.

    The call is None if only its hash is given.
    """
    events = trial.hops[0].events
    waiting = [event.fields for event in events if event.pallet == "Multisig" and event.name in _WAITING]
    table = await trial.table()
    known = {
        blake2b(table.encode_call(found.call), digest_size=32).digest(): found.call
        for found in trial.calls
        if found.outer is not None and (found.outer.pallet, found.outer.method) == ("Multisig", "as_multi")
    }
    for fields in waiting:
        yield fields["multisig"], known.get(fields["call_hash"])


async def describe_fallbacks(trial: "Trial") -> None:
    """Say what the events tell of calls that have a fallback: which of the two ran."""
    chain, warnings = trial.chain.name, trial.findings.warnings
    for event in trial.hops[0].events:
        if str(event) == "Utility.IfElseFallbackCalled":
            error = explain_dispatch_error(await trial.table(), event.fields["main_error"])
            warnings.append(
                f"the main call of Utility.if_else fails on {chain} ({error}), so its fallback runs"
            )
        elif str(event) == "Utility.IfElseMainSuccess":
            warnings.append(
                f"the main call of Utility.if_else succeeds on {chain}. If it fails when it is included, its fallback runs, and the fallback was not simulated"
            )
