"""Smart contracts written in ink!: what they can be called for."""

from dataclasses import dataclass
from typing import Any

from scenarioctl.application import Application

__all__ = ["contract_info"]


@dataclass(frozen=True, kw_only=True)
class ContractInfo:
    """Describe the callable functions of a deployed contract."""

    #: The contract's metadata.
    abiJson: Any  # noqa: N815 - spelled so in the interface
    #: SS58, or 20 bytes of 0x hex for ink! version 6.
    address: str
    #: The contracts chain on which to look for it.
    chain: str = ""


@dataclass(frozen=True, kw_only=True)
class ContractDescription:
    functions: tuple[dict[str, Any], ...]
    #: Whether a contract lives at the address; None where no chain was asked.
    onchain: bool | None = None

    def answer(self) -> dict[str, Any]:
        return {"sucess": True, "description": list(self.functions), "onchain": self.onchain}


async def contract_info(app: Application, request: ContractInfo) -> ContractDescription:
    from scenarioctl.chains.addresses import parse_contract_address
    from scenarioctl.contracts.metadata import describe_contract, ink_version

    version = ink_version(request.abiJson)
    messages = describe_contract(request.abiJson)
    parse_contract_address(request.address, field="address", evm=version >= 6)
    if request.chain:
        app.registry.find(request.chain)
    return ContractDescription(
        functions=tuple(
            {
                "function_name": message.function_name,
                "selector": message.selector,
                "mutates": message.mutates,
                "args": list(message.args),
            }
            for message in messages
        )
    )
