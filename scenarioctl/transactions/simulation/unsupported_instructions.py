"""What a program holds that no dry run shows: a check says of it what it is, and never *ok*."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.xcm_instructions import kind_of
from scenarioctl.transactions.xcm_programs import HARMLESS_CALLS

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.findings import Findings
    from scenarioctl.transactions.simulation.runtime_api import Clients
    from scenarioctl.transactions.xcm_programs import Instruction


async def check_unsupported_instructions(
    findings: "Findings", instructions: Iterable["Instruction"], clients: "Clients"
) -> None:
    """Leave open what *instructions* do that no dry run shows."""
    for instruction in instructions:
        chain = instruction.chain
        if kind_of(instruction.name).followed or chain is None:
            continue
        if instruction.name != "Transact":
            findings.unknowns.append(
                f"a program on {chain.name} contains {instruction.name}, and its effects are not simulated"
            )
            continue
        name = await _inner_call(clients, chain, instruction.fields["call"]["encoded"])
        if name not in HARMLESS_CALLS:
            said = "a call that cannot be decoded" if name is None else ".".join(name)
            findings.unknowns.append(
                f"a program on {chain.name} executes {said} with Transact, and its effects are not simulated"
            )


async def _inner_call(clients: "Clients", chain: "Chain", data: bytes) -> tuple[str, str] | None:
    """Return the pallet and the method of a call for *chain*; None where it is none of its runtime."""
    try:
        call = (await clients(chain).table()).decode_call(data)
    except (ChainUnreachable, ChainRefused, InvalidRequest):
        return None
    return call.pallet, call.method
