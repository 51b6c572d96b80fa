"""What a transfer asks for, and what crosses the bridge between Polkadot and Kusama.

Messages pass from one Asset Hub to the other through the Bridge Hubs of both networks.  No other
chain is joined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.chains.asset_rows import identities_of
from scenarioctl.chains.locations import across
from scenarioctl.chains.trust import accepts_reserve, is_beyond_bridge
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import U128_MAX

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain, Registry


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """One asset to one account, on another chain or on the same one."""

    source: "Chain"
    destination: "Chain"
    #: As the source holds it.
    asset: "Asset"
    #: In the smallest unit.
    amount: int
    #: The account on the destination, in the destination's account format.
    beneficiary: bytes
    #: Of XCM; None: the highest that both runtimes know.
    xcm_version: int | None = None
    #: As the source holds it: a little of it goes along, and pays for execution on the destination.
    #: None: the asset itself pays.
    remote_fee_asset: "Asset | None" = None
    #: Within a chain, the sender's account may be closed by it.  Between chains, XCM asks nobody.
    allow_death: bool = False
    #: It is built also if too little arrives to be held there.
    accept_loss: bool = False
    #: The beneficiary is known to hold the asset on the destination: any amount can arrive.
    receiver_holds: bool = False
    #: The account that signs it on the source, if that is known.
    sender: bytes | None = None

    @property
    def is_local(self) -> bool:
        """Whether it stays on one chain."""
        return self.source.name == self.destination.name


def check_request(transfer: Transfer) -> None:
    """Refuse a transfer that no chain could make."""
    if not 0 < transfer.amount <= U128_MAX:
        raise InvalidRequest(
            field="amount",
            value=transfer.amount,
            problem="is out of range",
            expected="from 1 to 2^128 - 1 smallest units",
        )
    account = transfer.destination.account_format
    if len(transfer.beneficiary) != account.length:
        raise InvalidRequest(
            field="beneficiary",
            value=transfer.beneficiary,
            problem=f"is not an {account.junction_name}",
            expected=f"{account.length} bytes",
        )
    if transfer.asset.chain != transfer.source.name:
        raise InvalidRequest(
            field="asset",
            problem=f"{transfer.asset.label} is not an asset of {transfer.source.title}",
            expected="one of its assets",
        )
    _check_remote_fee_asset(transfer)


def _check_remote_fee_asset(transfer: Transfer) -> None:
    asset = transfer.remote_fee_asset
    if asset is None:
        return
    if transfer.is_local:
        raise InvalidRequest(
            field="remote_fee_asset",
            problem=(
                f"{asset.label} is only for transfers between two chains: leave it out within "
                f"{transfer.source.title}"
            ),
        )
    if asset.chain != transfer.source.name:
        raise InvalidRequest(
            field="remote_fee_asset",
            problem=f"{asset.label} is not an asset of {transfer.source.title}",
            expected="one of its assets",
        )
    sent = transfer.asset
    if asset.id == sent.id or not set(_identities(transfer.source, asset)).isdisjoint(
        _identities(transfer.source, sent)
    ):
        raise InvalidRequest(
            field="remote_fee_asset",
            problem=f"{asset.label} is the asset that is sent",
            expected="another one: leave it out if the asset itself should pay",
        )


def _identities(chain: "Chain", asset: "Asset") -> tuple[str, ...]:
    return identities_of(chain, asset.id, asset.kind, asset.location)


class BelowLeast(InvalidRequest):
    """A transfer of which too little arrives for an account that doesn't hold the asset yet."""


def below_least(transfer: Transfer, least: int, why: str) -> BelowLeast:
    """Return the error for a transfer of less than *least*, raw, because *why*."""
    asset = transfer.asset
    raw = "" if asset.decimals is None else f" ({least}raw)"
    return BelowLeast(
        field="amount",
        problem=(
            f"{asset.amount(transfer.amount)} is too small: {why}. Send at least "
            f"{asset.amount(least)}{raw}"
        ),
        advice="With `accept_loss` it is built nevertheless.",
    )


#: What a refusal advises where a check may open the route.
BY_CHECK = "With `tx check`, a check for its sender by a dry run of every hop may prove it."


class OnlyChecked(InvalidRequest):
    """A transfer whose route only a check may open."""


def refusal(transfer: Transfer, reason: str, *, advice: str = "") -> InvalidRequest:
    """Return the error for a transfer that cannot be made, with its *reason*, and *advice* about
    options."""
    sentence = (
        f"{transfer.asset.display_name} cannot be sent from {transfer.source.title} to "
        f"{transfer.destination.title}: {reason}"
    )
    if advice == BY_CHECK:
        return OnlyChecked(sentence, advice=advice)
    return InvalidRequest(sentence, advice=advice)


class OnlyConnected(InvalidRequest):
    """A transfer whose route is open, but what it costs only a connection to the chains tells."""

    #: That, in words.
    reason = ""


def only_connected(transfer: Transfer, reason: str, *, advice: str = "") -> OnlyConnected:
    """Return the error for a transfer that can't be made without a connection, with the *reason*,
    and *advice* about options."""
    error = OnlyConnected(refusal(transfer, reason).statement, advice=advice)
    error.reason = reason
    return error


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
