"""The bridges between Polkadot and Kusama, and between Polkadot and Ethereum: what crosses them, by
which chain as its reserve, and in which form it arrives.

Messages pass from one Asset Hub to the other through the Bridge Hubs of both networks, or from that
of Polkadot to Ethereum through its Bridge Hub (Snowbridge).  No other chain is joined, but one
signature takes an asset over an Asset Hub to or from a chain beside it.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.chains.locations import (
    absolute,
    across,
    junctions_of,
    place_of,
    read_location,
    seen_from,
)
from scenarioctl.chains.trust import accepts_reserve, is_beyond_bridge
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.request import Transfer, refusal
from scenarioctl.transactions.transfer.route_rows import find_row, routes_from

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain, Registry

#: The chain of each network to which the bridges lead.
ENDS = {"Polkadot": "assetHub", "Kusama": "assetHub_kusama", "Ethereum:1": "ethereum"}
#: The Bridge Hub of each network, and its pallet in whose name messages arrive from the other one.
BRIDGE_HUB = 1002
_BRIDGE_PALLET = 53
#: Instructions that the bridge puts before a message.
ARRIVING_INSTRUCTIONS = 3
#: How the account begins that holds an Asset Hub's assets on the other one, before it is hashed.
_SOVEREIGN = b"glblcnsnss/prchn_"
#: Numbers of XCM's networks.
_NUMBERS = {"Polkadot": 2, "Kusama": 3}
#: The contract of Snowbridge on Ethereum (Snowfork/snowbridge,
#: contracts/test/ForkUpgradeForAssetRecovery202510.t.sol, read 2026-11-23).
_GATEWAY = bytes.fromhex("27ca963c279c93801941e1eb8799c23f407d68e7")


def is_bridged(transfer: Transfer) -> bool:
    """Tell whether the two chains are under different relay chains: only a bridge leads from one to
    the other."""
    return transfer.source.relay != transfer.destination.relay


def check_bridge(transfer: Transfer, registry: "Registry") -> None:
    """Refuse a transfer between two networks unless the bridge joins its two chains."""
    source, destination = transfer.source, transfer.destination
    if source.is_ethereum:
        raise refusal(
            transfer, "transactions of Ethereum aren't made here. Use app.snowbridge.network"
        )
    if not source.consensus or not destination.consensus:
        raise refusal(
            transfer,
            (
                f"the relay chain of {source.title} is {source.relay or 'not known'} and that "
                f"of {destination.title} is {destination.relay or 'not known'}, and no bridge "
                "between the two is known"
            ),
        )
    if is_beyond_bridge(source, destination, registry):
        return
    if destination.is_ethereum:
        if any(chain == destination.name for chain, _ in routes_from(source.name)):
            # In one signature, by way of the Asset Hub.
            return
        raise refusal(
            transfer,
            (
                "assets are sent to Ethereum here only from Polkadot Asset Hub and "
                f"Hydration{send_first(transfer, registry)}"
            ),
        )
    if hub_on_way(transfer, registry) is not None:
        return
    hubs = [hub.title for hub in map(registry.asset_hub, (source, destination)) if hub is not None]
    raise refusal(
        transfer,
        (
            f"the bridge between {source.consensus} and {destination.consensus} joins only "
            "their Asset Hubs, and one signature goes over only one of them. Make it separate "
            f"transfers by way of {' and '.join(hubs)}"
        ),
    )


def hub_on_way(transfer: Transfer, registry: "Registry") -> "Chain | None":
    """Return the Asset Hub over which a transfer between two networks goes in one signature.

    None if neither of the two chains is at an end of the bridge, or both are.
    """
    source, destination = transfer.source, transfer.destination
    own, other = registry.asset_hub(source), registry.asset_hub(destination)
    if own == source:
        return None if other == destination else other
    return own if destination.is_ethereum or destination == other else None


def send_first(transfer: Transfer, registry: "Registry") -> str:
    """Return the advice to go by the Asset Hub of Polkadot, if that sends the asset to Ethereum
    once it is there, or that it doesn't."""
    source, hub = transfer.source, registry.find(ENDS["Polkadot"])
    if not transfer.asset.location or source == hub:
        return ""
    identity = across(
        absolute(transfer.asset.location, source.para_id), source.consensus, hub.consensus
    )
    if find_row(hub.name, transfer.destination.name, seen_from(identity, hub.para_id)) is None:
        return f", and no list has it going there from {hub.title}"
    return ". Send it to Polkadot Asset Hub first, and from there in a second transaction"


def bridge_type(
    source: "Chain", destination: "Chain", identity: str, registry: "Registry"
) -> Literal["LocalReserve", "DestinationReserve"] | None:
    """Return how the asset crosses the bridge by the trust facts of both sides; None if it doesn't.

    *identity* is its location seen from the source's relay chain.
    """
    if not is_beyond_bridge(source, destination, registry):
        return None
    arriving = across(identity, source.consensus, destination.consensus)
    if accepts_reserve(destination, arriving, source, registry):
        return "LocalReserve"
    if accepts_reserve(source, identity, destination, registry):
        return "DestinationReserve"
    return None


def sovereign_account_beyond(chain: "Chain") -> bytes:
    """Return the account of *chain*, a parachain, on the chains beyond a bridge.

    The hash of its network and para id, as GlobalConsensusParachainConvertsFor makes it; seen on
    asset-hub-kusama 2000002, where it gets what goes to the Asset Hub of Polkadot.
    """
    para_id = (chain.para_id or 0).to_bytes(4, "little")
    return blake2b(
        _SOVEREIGN + bytes([_NUMBERS[chain.consensus]]) + para_id, digest_size=32
    ).digest()


def arriving_program(program: Sequence[Any], source: "Chain", version: int) -> list[Any]:
    """Return *program*, which *source* sends over the bridge, as the chain beyond it executes it.

    *version* is that of XCM.  The Bridge Hub there gets it as a message of the other network, and
    hands it on in the name of *source*.
    """

    def below(junction: Mapping[str, int]) -> dict[str, Any]:
        return {"DescendOrigin": {"X1": junction if version == 3 else [junction]}}

    return [
        below({"PalletInstance": _BRIDGE_PALLET}),
        {"UniversalOrigin": {"GlobalConsensus": source.consensus}},
        below({"Parachain": source.para_id or 0}),
        *program,
    ]


def export_request(program: Sequence[Any], source: "Chain", destination: "Chain") -> list[Any]:
    """Return what *source* asks its Bridge Hub for, so that *program* reaches *destination*, a
    whole network."""
    (network,) = junctions_of(read_location(place_of(destination, source)))
    export = {"network": network["GlobalConsensus"], "destination": "Here", "xcm": list(program)}
    return [
        {"UnpaidExecution": {"weight_limit": "Unlimited", "check_origin": None}},
        {"ExportMessage": export},
        {"SetTopic": bytes(32)},
    ]


def describe_contract(account: bytes, ethereum: "Chain", assets: "Assets") -> str:
    """Return which contract *account* is, if it is one that passes on nothing that it gets; "" if
    it isn't known to be one."""
    if account == _GATEWAY:
        return "the contract of Snowbridge itself on Ethereum"
    token = next((each for each in assets.all(ethereum) if each.id == f"0x{account.hex()}"), None)
    return "" if token is None else f"the contract of {token.display_name} on Ethereum"


def check_ethereum_receiver(transfer: Transfer, assets: "Assets") -> None:
    """Refuse the contracts of tokens and of the bridge as the beneficiary of *transfer* to
    Ethereum."""
    ethereum, account = transfer.destination, transfer.beneficiary
    contract = describe_contract(account, ethereum, assets)
    if contract:
        written = ethereum.account_format.format(account, 0)
        raise InvalidRequest(
            field="beneficiary", problem=f"{written} is {contract}: what it gets is lost"
        )
