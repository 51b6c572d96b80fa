"""What reading a call tells: the rights that it gives to others, and what in it isn't understood.  No simulation shows either."""

from typing import TYPE_CHECKING

from scenarioctl.transactions.wording.calls import tell_call

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.trial import Trial


async def check_granted_rights(trial: "Trial") -> None:
    """Say which rights are given to anybody but the sender, and leave open what comes of them, and of what isn't understood."""
    findings = trial.findings
    away = {each.chain for each in trial.instructions if each.name == "Transact"}
    chains = [hop.chain for hop in trial.hops if not hop.unknown and hop.chain in away]
    # Calls for other chains are read by the runtimes of those.
    tables = {chain.name: await trial.clients(chain).table() for chain in (*chains, trial.chain)}
    story = tell_call(trial.call, trial.chain, trial.assets, lambda chain: tables.get(chain.name))
    given = [right.sentence for right in story.rights if right.accounts != {trial.sender}]
    findings.rights += given
    findings.unknowns += [*given, *story.unknown]
    findings.losses += story.deposits
