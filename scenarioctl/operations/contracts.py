"""Smart contracts written in ink!: their callable functions."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.model.json_types import Hex
from scenarioctl.model.request_fields import ChainName
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain

__all__ = ["contract_info"]

#: Seconds for connecting to the chain of the contract.
OPENING = 2.0
#: The chain that runs contracts of ink! version 6, with pallet-revive.
DEFAULT_CHAIN = "assetHub"


@dataclass(frozen=True, kw_only=True)
class ContractInfo:
    """Describe the callable functions of a deployed contract."""

    #: The contract's metadata.
    abiJson: Any  # noqa: N815 - spelled so in the interface
    #: SS58, or 20 bytes of 0x hex for ink! version 6.
    address: str
    #: The chain to look for it on. Default: assetHub for ink! version 6, else none.
    chain: ChainName = ""


class ContractFunction(TypedDict):
    function_name: str
    #: Four bytes.
    selector: "Hex"
    mutates: bool
    #: `name: Type` of each argument.
    args: list[str]


class ContractDescription(TypedDict):
    sucess: Literal[True]
    description: list[ContractFunction]
    #: Whether a contract lives at the address; null if no chain was asked.
    onchain: bool | None


async def contract_info(app: Application, request: ContractInfo) -> Result[ContractDescription]:
    from scenarioctl.chains.addresses import parse_contract_address
    from scenarioctl.contracts import describe_contract, ink_version

    version = ink_version(request.abiJson)
    # 5 MB take half a second.
    messages = await app.aside(describe_contract, request.abiJson)
    address = parse_contract_address(request.address, field="address", evm=version >= 6)
    named = request.chain or (DEFAULT_CHAIN if version >= 6 else "")
    onchain, warnings = await _look_for(app, app.registry.find(named), address) if named else (None, ())
    if onchain is False and not request.chain:
        warnings = (f"No contract lives at this address on {named}; pass --chain to look on another chain.",)
    description: list[ContractFunction] = [
        {
            "function_name": message.function_name,
            "selector": message.selector,
            "mutates": message.mutates,
            "args": list(message.args),
        }
        for message in messages
    ]
    return Result(answer={"sucess": True, "description": description, "onchain": onchain}, warnings=warnings)


async def _look_for(app: Application, chain: "Chain", address: bytes) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether a contract lives at *address*; None and a warning if no node answers."""
    from scenarioctl.contracts import is_contract

    if app.settings.offline:
        return None, ()
    client = app.client(chain)
    # The description is what was asked for; it does not wait long for what is known besides.
    client.timeouts = replace(client.timeouts, opening=OPENING)
    try:
        return await is_contract(client, address), ()
    except (ChainUnreachable, ChainRefused) as error:
        return None, (f"Could not check that a contract lives at this address: {error}",)
