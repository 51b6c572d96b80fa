"""Several messages of one transaction: each is simulated alone, on the state of now, although the
first changes it for the next."""

from typing import TYPE_CHECKING

from scenarioctl.transactions.simulation.runtime_api import Inconclusive, read_details

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.ledger import HopLedger
    from scenarioctl.transactions.simulation.runtime_api import Clients
    from scenarioctl.transactions.simulation.trial import Trial


async def check_competing_messages(trial: "Trial") -> None:
    """Leave open what two messages to one chain both draw on: a pool, an account, a deposit
    limit."""
    drawn: dict[tuple[str, object], int] = {}
    for number, ledger in enumerate(trial.ledgers):
        if ledger.hop.message is None:
            continue
        chain = ledger.hop.chain
        touched = {(chain.name, what) for what in await _drawn_on(ledger, trial.clients)}
        shared = {what for what in touched if drawn.get(what, number) != number}
        if shared:
            trial.findings.unknowns.append(
                f"two messages of the transaction reach {chain.title} and draw on the same "
                f"{_say(shared)}: each was simulated without the other"
            )
        drawn.update(dict.fromkeys(touched, number))


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
