"""Which assets each chain accepts from which other chain, and what pays for execution there.

Transfers are built by these facts, read from the source of each runtime, and by nothing that a
runtime merely lets through: the relay chain still sends DOT to a parachain over the wrong reserve.

To add a chain, write its row in `trust.json` with its source; `tools/curate_routes.py` then writes
its routes.  A row has the fields of `TrustFacts`; `like` names a row above it that has those which
it lacks, and `note` is for readers.  A row of a chain that is not built in has `network` and
`para_id` too.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.chains.locations import chain_identity, place_of, seen_from
from scenarioctl.chains.registry import NETWORKS
from scenarioctl.files import read_document

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry


class Sender(StrEnum):
    """The chain that an accepted asset comes from."""

    RELAY = "the relay chain"
    ASSET_HUB = "the Asset Hub"
    #: Runtimes tell system parachains by their para id, which is below 2000.
    SYSTEM = "a system parachain, of which the Asset Hub is one"
    #: The chain in whose location the asset is: `1/Parachain(2034)` for
    #: `1/Parachain(2034)/GeneralIndex(0)`.
    OWNER = "the chain that issued the asset"
    #: The Asset Hub of the other network, through the Bridge Hubs.
    BEYOND_BRIDGE = "the Asset Hub beyond the bridge"
    ANY = "any chain"


class ExecutionFees(StrEnum):
    """What pays for the execution of a message."""

    NATIVE = "the native asset"
    #: The native asset, and assets with a pool against it: `Asset.pays_fees` says which had one.
    POOLED = "the native asset and assets with a pool"
    #: Any asset that the chain has a price for, which only the chain can say: `Asset.pays_fees` is
    #: false for those without.
    PRICED = "assets with a price"


class Accepted(NamedTuple):
    """Assets that a chain accepts from one other chain."""

    #: Their location as the accepting chain sees it; a `*` at the end stands for anything.
    asset: str
    sender: Sender
    #: The storage item that decides for each asset.  Such a row opens no route without asking the
    #: chain.
    decided_by: str = ""


class ForeignReserve(NamedTuple):
    """The reserve beyond a bridge of assets that an Asset Hub holds for its parachains."""

    #: Their location as the Asset Hub sees it; a `*` at the end stands for anything.
    asset: str
    #: The reserve that `ForeignAssets.Reserves` has for each of them, not teleportable.
    reserve: str


class Refused(NamedTuple):
    """Assets that must never be sent to a chain from another one, whatever the runtimes let
    through: they would be lost."""

    #: Their location as the receiving chain sees it; a `*` at the end stands for anything.
    asset: str
    sender: Sender
    #: `teleport`, `reserve`, or `any` of the two.
    form: str
    #: Why; `{to}` and `{hub}` stand for the receiving chain and its Asset Hub.
    reason: str


class TrustFacts(NamedTuple):
    """What one runtime accepts from other chains."""

    #: Chains of one kind have the same routes: `relay`, `asset_hub`, `system`, `hydration`, or one
    #: of its own.
    kind: str
    #: Location of the native asset as the chain sees it; "" if it has none.
    native: str
    execution_fees: ExecutionFees
    #: Where the facts were read, and when.
    source: str
    read: str = "2026-11-23"
    #: Assets accepted from a chain as their reserve (IsReserve).
    reserves: tuple[Accepted, ...] = ()
    #: Assets accepted as a teleport (IsTeleporter).
    teleports: tuple[Accepted, ...] = ()
    #: Assets from beyond a bridge that the chain, an Asset Hub, backs for the parachains.
    foreign_reserves: tuple[ForeignReserve, ...] = ()
    refused: tuple[Refused, ...] = ()
    #: The pallet that gives accounts to Ethereum addresses (`transactions/keyless_accounts.py`);
    #: empty for none. Read in pallets/evm-accounts of Hydration's commit, and in the same of
    #: Bifrost's, which hashes; in AcalaNetwork/Acala@051631ef5, modules/evm-accounts; and in
    #: substrate/frame/revive/src/address.rs of polkadot-sdk.
    ethereum_accounts: str = ""
    #: Whether its users can send teleports (XcmTeleportFilter).
    sends_teleports: bool = False
    #: Whether the runtime may accept more than is written here, so that what is missing is unknown
    #: and not refused.
    partial: bool = False


#: Assets that two Asset Hubs accept from each other through the Bridge Hubs, by the network whose
#: Asset Hub accepts them. `ForeignAssets.Reserves` of each decides asset by asset; these are the
#: rules that its entries were migrated from. Asked too: TrustedQueryApi of asset-hub-kusama 2000002
#: says true to both rows of Kusama (read 2026-11-22).
_BRIDGED: Mapping[str, tuple[Accepted, ...]] = {
    "Polkadot": (
        Accepted(asset="2/GlobalConsensus(Kusama)", sender=Sender.BEYOND_BRIDGE),
        Accepted(asset="2/GlobalConsensus(Kusama)/*", sender=Sender.BEYOND_BRIDGE),
    ),
    "Kusama": (
        Accepted(asset="2/GlobalConsensus(Polkadot)", sender=Sender.BEYOND_BRIDGE),
        Accepted(asset="2/GlobalConsensus(Polkadot)/*", sender=Sender.BEYOND_BRIDGE),
        Accepted(asset="2/GlobalConsensus(Ethereum:1)", sender=Sender.BEYOND_BRIDGE),
        Accepted(asset="2/GlobalConsensus(Ethereum:1)/*", sender=Sender.BEYOND_BRIDGE),
    ),
}


def _read(row: Mapping[str, Any]) -> TrustFacts:
    """Return the facts of a row of trust.json that stands for itself."""
    lists: dict[str, tuple[Any, ...]] = {
        key: tuple(
            Accepted(asset=each[0], sender=Sender[each[1].upper()], decided_by="".join(each[2:]))
            for each in value
        )
        for key, value in row.items()
        if key in ("reserves", "teleports")
    }
    lists["refused"] = tuple(
        Refused(asset=asset, sender=Sender[sender.upper()], form=form, reason=reason)
        for asset, sender, form, reason in row.get("refused", ())
    )
    lists["foreign_reserves"] = tuple(
        ForeignReserve(asset=asset, reserve=reserve)
        for asset, reserve in row.get("foreign_reserves", ())
    )
    fees = ExecutionFees[row["execution_fees"].upper()]
    return TrustFacts(**{**row, **lists, "execution_fees": fees})


#: What says whose facts a row of a chain has that is not built in.
_PLACE = ("network", "para_id")


def _read_all(rows: dict[str, dict[str, Any]]) -> dict[str, TrustFacts]:
    """Return the facts of all *rows*, which it fills with what they take from others."""
    found = {}
    for name, row in rows.items():
        own = {**rows.get(row.pop("like", ""), {}), **row}
        own.pop("note", None)
        rows[name] = own
        found[name] = _read({key: value for key, value in own.items() if key not in _PLACE})
    return found


_ROWS = read_document(Path(__file__).with_name("trust.json"))
_ALL = _read_all(_ROWS)
#: The facts of the built-in chains whose facts are known.
TRUST: Mapping[str, TrustFacts] = {
    name: facts for name, facts in _ALL.items() if "network" not in _ROWS[name]
}
#: The facts of parachains that are not built in, by network and para id.
TRUST_BY_PLACE: Mapping[tuple[str, int], TrustFacts] = {
    (row["network"], row["para_id"]): _ALL[name] for name, row in _ROWS.items() if "network" in row
}
#: What identifies the runtime of Hydration in config.toml: how it calls itself, or the id that it
#: has under Polkadot.
HYDRATION_SPEC_NAME = "hydradx"
HYDRATION_PARA_ID = 2034
#: The roles of chains whose runtimes are asked what they accept, where no trust facts say all of
#: it.
JUDGED_ROLES = ("parachain", "dex")
#: The facts that a chain of config.toml declares with its role.  A parachain, a chain of contracts,
#: and an exchange that isn't Hydration declare none.
_DECLARED: Mapping[str, TrustFacts] = {
    role: TRUST[name]._replace(source="the role in config.toml")
    for role, name in {
        "relay": "polkadot",
        "asset_hub": "assetHub",
        "system": "bridgeHub",
        "dex": "hydraDx",
    }.items()
}


def trust_of(chain: "Chain") -> TrustFacts | None:
    """Return the facts of *chain*; None if they aren't known."""
    if chain.role == "dex" and not is_hydration(chain):
        return None
    if (
        chain.role == "parachain"
        and (place := (chain.consensus, chain.para_id or 0)) in TRUST_BY_PLACE
    ):
        return TRUST_BY_PLACE[place]
    return TRUST.get(chain.name) or _DECLARED.get(chain.role)


def is_hydration(chain: "Chain") -> bool:
    """Tell whether the runtime of *chain* is Hydration's: by its name, or by its para id where that
    isn't another network's."""
    by_id = chain.para_id == HYDRATION_PARA_ID and chain.consensus in ("", "Polkadot")
    return by_id or chain.spec_name == HYDRATION_SPEC_NAME


def is_judged_by_runtime(chain: "Chain") -> bool:
    """Tell whether only the runtime of *chain* knows all that it accepts, so that a dry run may
    open its transfers.

    Its genesis has to be known: else a node of another chain could answer for it.
    """
    facts = trust_of(chain)
    return chain.role in JUDGED_ROLES and bool(chain.genesis) and (facts is None or facts.partial)


def refused_because(
    receiver: "Chain", identity: str, sender: "Chain", registry: "Registry", *, teleported: bool
) -> str:
    """Return why *sender* must never send the asset to *receiver*, *teleported* or over a reserve;
    "" if nothing says so."""
    facts = trust_of(receiver)
    hub = registry.asset_hub(receiver)
    for row in () if facts is None else facts.refused:
        fits = row.form in ("any", "teleport" if teleported else "reserve")
        if fits and _fits(row, receiver, identity, sender, registry):
            return row.reason.format(
                to=receiver.title, hub="the Asset Hub" if hub is None else hub.title
            )
    return ""


def accepts_reserve(
    receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> bool:
    """Tell whether *receiver* accepts the asset from *sender* as its reserve.

    *identity* is the asset's location seen from the relay chain of *receiver*
    (`chains.locations.absolute`).
    """
    facts = trust_of(receiver)
    if facts is None:
        return False
    rows = facts.reserves
    if facts.kind == "asset_hub":
        rows += _BRIDGED.get(receiver.consensus, ())
    return _accepts(rows, receiver, identity, sender, registry)


def accepts_teleport(
    receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> bool:
    """Tell whether *sender* and *receiver* trust each other to burn and to mint the asset, and
    *sender* may send it."""
    sending, receiving = trust_of(sender), trust_of(receiver)
    return (
        sending is not None
        and receiving is not None
        and sending.sends_teleports
        and _accepts(receiving.teleports, receiver, identity, sender, registry)
        and _accepts(sending.teleports, sender, identity, receiver, registry)
    )


def teleport_decided_by(
    receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> "tuple[Chain, str] | None":
    """Return which of the two decides by which storage item whether *sender* may teleport the asset
    to *receiver*.

    None if no storage item decides it: they may, or they may not.
    """
    sending, receiving = trust_of(sender), trust_of(receiver)
    if sending is None or receiving is None or not sending.sends_teleports:
        return None
    deciding = None
    for chain, other, rows in (
        (receiver, sender, receiving.teleports),
        (sender, receiver, sending.teleports),
    ):
        items = [row.decided_by for row in rows if _fits(row, chain, identity, other, registry)]
        if not items:
            return None
        if all(items):
            deciding = (chain, items[0])
    return deciding


def foreign_reserve(hub: "Chain", identity: str) -> str:
    """Return the reserve beyond a bridge of an asset that *hub* backs for its parachains; "" if it
    backs no such asset."""
    facts = trust_of(hub)
    location = seen_from(identity, hub.para_id)
    for row in () if facts is None else facts.foreign_reserves:
        if matches(row.asset, location):
            return row.reserve
    return ""


def _accepts(
    rows: tuple[Accepted, ...],
    receiver: "Chain",
    identity: str,
    sender: "Chain",
    registry: "Registry",
) -> bool:
    return any(
        not row.decided_by and _fits(row, receiver, identity, sender, registry) for row in rows
    )


def _fits(
    row: Accepted | Refused, receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> bool:
    """Tell whether *row* of *receiver* is about the asset from *sender*."""
    is_it = matches(row.asset, seen_from(identity, receiver.para_id))
    return is_it and _is_sender(row.sender, receiver, identity, sender, registry)


def is_beyond_bridge(chain: "Chain", other: "Chain", registry: "Registry") -> bool:
    """Tell whether a bridge joins the two: the Asset Hubs of two networks."""
    return {chain.consensus, other.consensus} == set(NETWORKS) and all(
        each == registry.asset_hub(each) for each in (chain, other)
    )


def chain_beyond(registry: "Registry", origin: "Chain", place: str) -> "Chain | None":
    """Return the chain beyond a bridge that *origin* sees at *place*; None if that is no chain to
    which messages cross."""
    for chain in registry.all():
        if is_beyond_bridge(origin, chain, registry) and place == place_of(chain, origin):
            return chain
    return None


def matches(pattern: str, location: str) -> bool:
    """Tell whether *location* is *pattern*, whose `*` at the end stands for anything."""
    return location.startswith(pattern[:-1]) if pattern.endswith("*") else location == pattern


def _is_sender(
    wanted: Sender, receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> bool:
    if wanted is Sender.ANY:
        return True
    if wanted is Sender.RELAY:
        return sender == registry.relay_of(receiver)
    if wanted is Sender.ASSET_HUB:
        return sender == registry.asset_hub(receiver)
    if wanted is Sender.SYSTEM:
        # Of two Asset Hubs under one relay chain, messages go to the first.
        return sender == registry.asset_hub(receiver) or (
            sender.role == "system" and sender.relay == receiver.relay
        )
    if wanted is Sender.BEYOND_BRIDGE:
        return is_beyond_bridge(sender, receiver, registry)
    if sender.relay != receiver.relay:
        return False
    # The relay chain is nobody's reserve: its own asset is backed by the Asset Hub.
    home = chain_identity(sender)
    return bool(home) and (identity == home or identity.startswith(f"{home}/"))
