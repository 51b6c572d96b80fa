"""HRMP channels: which parachains can send messages to which."""

from dataclasses import dataclass
from typing import Annotated, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import read_choice, read_number
from scenarioctl.model.request_fields import Value
from scenarioctl.operations.results import Result

__all__ = ["open_channels"]

#: Direction -> what the relay chain keeps of it: who sends to a parachain, and whom it sends to.
DIRECTIONS = {
    "ingress": ("HrmpIngressChannelsIndex",),
    "egress": ("HrmpEgressChannelsIndex",),
    "both": ("HrmpIngressChannelsIndex", "HrmpEgressChannelsIndex"),
}


@dataclass(frozen=True, kw_only=True)
class OpenChannels:
    """List the parachains that have channels open with a parachain."""

    #: The relay chain.
    relay: str
    #: The parachain.
    paraid: int | str
    #: `ingress` (senders to `paraid`), `egress` (its receivers), or `both` (default).
    direction: Annotated[str, Value("WAY", tuple(DIRECTIONS))] = "both"


class Channels(TypedDict):
    #: Ascending.
    open_hrmp_channels: list[int]
    #: The parachain that was asked about.
    sourcechain: int


async def open_channels(app: Application, request: OpenChannels) -> Result[Channels]:
    relay = app.registry.find_in_path(request.relay, field="relay")
    if relay.role != "relay":
        relays = ", ".join(chain.name for chain in app.registry.all() if chain.role == "relay")
        raise InvalidRequest(
            field="relay",
            value=request.relay,
            problem="is not a relay chain, which alone knows of channels",
            expected=f"one of: {relays}",
        )
    paraid = read_number(
        request.paraid,
        field="paraid",
        kind="the number of a parachain",
        expected=f"0 to {2**32 - 1}, like 1000",
        most=2**32 - 1,
    )
    entries = DIRECTIONS[read_choice(request.direction, field="direction", choices=DIRECTIONS)]
    client = app.client(relay)
    wanted = [("Hrmp", entry, (paraid,)) for entry in entries]
    *found, lifecycle = await client.storages([*wanted, ("Paras", "ParaLifecycles", (paraid,))])
    channels = sorted({number for numbers in found for number in numbers})
    warnings: tuple[str, ...] = ()
    if not channels and lifecycle is None:
        warnings = (f"{relay.name} has no parachain {paraid}",)
    return Result(answer={"open_hrmp_channels": channels, "sourcechain": paraid}, warnings=warnings)
