"""What a program holds that no dry run shows: a check says of it what it is, and never *ok*."""

from typing import TYPE_CHECKING

from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.transactions.call_kinds import Danger, kind_of_call
from scenarioctl.transactions.inner_calls import decoded_call
from scenarioctl.transactions.xcm_instructions import kind_of

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.trial import Trial


async def check_unsupported_instructions(trial: "Trial") -> None:
    """Leave open what instructions do that no dry run shows."""
    for instruction in trial.instructions:
        chain = instruction.chain
        if kind_of(instruction.name).followed or chain is None:
            continue
        said = f"contains {instruction.name}"
        if instruction.name == "Transact":
            try:
                table = await trial.clients(chain).table()
                call = decoded_call(instruction.fields["call"]["encoded"], table)
            except (ChainUnreachable, ChainRefused):
                call = None
            if call is not None and kind_of_call(call).danger is Danger.REMARK:
                continue
            name = "a call that cannot be decoded" if call is None else f"{call.pallet}.{call.method}"
            said = f"executes {name} with Transact"
        trial.findings.unknowns.append(f"a program on {chain.name} {said}, and its effects are not simulated")
