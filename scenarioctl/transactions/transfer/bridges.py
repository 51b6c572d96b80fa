"""The bridge between Polkadot and Kusama: what crosses it, by which chain as its reserve, and in
which form it arrives.

Messages pass from one Asset Hub to the other through the Bridge Hubs of both networks.  No other
chain is joined.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.chains.locations import across
from scenarioctl.chains.trust import accepts_reserve, is_beyond_bridge
from scenarioctl.transactions.transfer.request import Transfer, refusal

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry

#: The chain of each network to which the bridges lead.
ENDS = {"Polkadot": "assetHub", "Kusama": "assetHub_kusama"}
#: The Bridge Hub of each network, and its pallet in whose name messages arrive from the other one.
BRIDGE_HUB = 1002
_BRIDGE_PALLET = 53
#: Instructions that the bridge puts before a message.
ARRIVING_INSTRUCTIONS = 3
#: How the account begins that holds an Asset Hub's assets on the other one, before it is hashed.
_SOVEREIGN = b"glblcnsnss/prchn_"
#: Numbers of XCM's networks.
_NUMBERS = {"Polkadot": 2, "Kusama": 3}


def is_bridged(transfer: Transfer) -> bool:
    """Tell whether the two chains are under different relay chains: only a bridge leads from one to
    the other."""
    return transfer.source.relay != transfer.destination.relay


def check_bridge(transfer: Transfer, registry: "Registry") -> None:
    """Refuse a transfer between two networks unless the bridge joins its two chains."""
    source, destination = transfer.source, transfer.destination
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
    own, other = registry.asset_hub(source), registry.asset_hub(destination)
    first = other if source == own else own
    advice = "" if first is None else f". Send it to {first.title} first"
    raise refusal(
        transfer,
        (
            f"the bridge between {source.consensus} and {destination.consensus} joins only "
            f"their Asset Hubs{advice}"
        ),
    )


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
