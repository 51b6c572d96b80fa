"""A message is simulated alone, on the state of now, although the call that sends it, or another
message, changes that state before it arrives."""

from typing import TYPE_CHECKING

from scenarioctl.transactions.simulation.runtime_api import Inconclusive, read_details

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.ledger import HopLedger
    from scenarioctl.transactions.simulation.runtime_api import Clients
    from scenarioctl.transactions.simulation.trial import Trial


async def check_competing_messages(trial: "Trial") -> None:
    """Leave open what two messages to one chain, or the call and a message that comes back, both
    draw on: a pool, an account, a deposit limit."""
    drawn: dict[tuple[str, object], int] = {}
    closed = {
        event.fields["account"]
        for event in trial.hops[0].events
        if str(event) == "System.KilledAccount"
    }
    for number, ledger in enumerate(trial.ledgers):
        chain = ledger.hop.chain
        if ledger.hop.message is None:
            found = _changed_by_call(trial, ledger)
        else:
            found = await _drawn_on(ledger, trial.clients)
            found |= {entry.account for entry in ledger.received()} & closed
        touched = {(chain.name, what) for what in found}
        shared = {what for what in touched if drawn.get(what, number) != number}
        if shared:
            # The call is the first.
            with_call = not all(drawn[what] for what in shared)
            who = (
                f"the transaction and a message that comes back to {chain.title}"
                if with_call
                else f"two messages of the transaction reach {chain.title} and"
            )
            trial.findings.unknowns.append(
                f"{who} draw on the same {_say(shared)}: each was simulated without the other"
            )
        drawn.update(dict.fromkeys(touched, number))


def _changed_by_call(trial: "Trial", ledger: "HopLedger") -> set[object]:
    """Return the accounts that change on the first chain, the pool among them that exchanges the
    fee."""
    found: set[object] = {
        entry.account for entry in ledger.entries if entry.value and not entry.is_mirror
    }
    if trial.fee_asset is not None:
        found |= {
            entry.account
            for each in trial.ledgers
            if each.hop.chain == trial.chain
            for entry in each.entries
            if entry.role == "pool"
        }
    return found


async def _drawn_on(ledger: "HopLedger", clients: "Clients") -> set[object]:
    found: set[object] = set()
    for entry in ledger.entries:
        asset = entry.asset
        if entry.value < 0 and not entry.is_mirror:
            found.add(entry.account)
        elif entry.value > 0 and asset.kind == "tokens" and asset.id.isdigit():
            try:
                row = await read_details(clients(ledger.hop.chain), asset)
            except Inconclusive:
                # No chain but Hydration is known to have limits.
                continue
            if row is not None and row.get("xcm_rate_limit") is not None:
                found.add(asset.id)
    return found


def _say(shared: set[tuple[str, object]]) -> str:
    return (
        "account or pool" if any(isinstance(what, bytes) for _, what in shared) else "deposit limit"
    )
