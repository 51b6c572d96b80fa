"""Compare the facts that are bundled with what registries say now: the differences, and those of
them that must be settled."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scenarioctl.chains.registry import Chain
from tools.chain_registries import ListedChain, Place, is_dead

#: A registry's name -> what it lists.
Registries = Mapping[str, Mapping[Place, ListedChain]]
#: Source chain, destination chain, location of the asset -> the packages that list it on both, and
#: the transfer types of its hops.
RouteSources = Mapping[tuple[str, str, str], tuple[frozenset[str], str]]
#: Chain, id of the asset -> symbol, decimals, location.
AssetFacts = Mapping[tuple[str, str], tuple[object, ...]]

#: Differences that were looked into: kind, chain and what the registry has -> why ours stays.
SETTLED: Mapping[tuple[str, str, object], str] = {
    (
        "genesis",
        "paseo",
        "0x77afd6190f1554ad45fd0d31aee62aacc33c6db0ea801129acb813f913e0764f",
    ): "the network of 2024",
    ("SS58 prefix", "paseo", 0): "the network of 2024",
    ("SS58 prefix", "hydraDx", 63): "hydradx 428 has 0 in System.SS58Prefix",
    ("SS58 prefix", "bifrost", 6): "bifrost_polkadot 24000 has 0 in System.SS58Prefix",
    (
        "SS58 prefix",
        "pendulum",
        56,
    ): "pendulum 24 has 0 in System.SS58Prefix (pendulum-chain/pendulum@5904510)",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One line of the table."""

    kind: str
    #: What differs.
    of: str
    bundled: str
    listed: str
    #: What happened, in a word: opened, closed, renamed or moved; "" for anything else.
    change: str = ""
    #: A sentence if somebody has to act before the facts are used any longer.
    failure: str = ""


def compare_chains(chains: Iterable[Chain], registries: Registries) -> Iterator[Difference]:
    """Give what differs between *chains* and each registry; it is a failure if two registries list
    a chain no more."""
    for chain in chains:
        place = (chain.relay, chain.para_id)
        records = {name: listed.get(place) for name, listed in registries.items()}
        missing = [name for name, record in records.items() if record is None]
        if missing:
            several = len(missing) > 1
            yield Difference(
                kind="chain",
                of=chain.name,
                bundled="listed",
                listed=f"not in {', '.join(missing)}",
                change="closed" if several else "",
                failure=(
                    f"{chain.name} is listed neither by {' nor by '.join(missing)}: has it closed?"
                )
                if several and not chain.testnet
                else "",
            )
        for name, record in records.items():
            if record is not None:
                yield from _compare_chain(chain, name, record)
        yield from _compare_endpoints(
            chain, [record for record in records.values() if record is not None]
        )


def _compare_chain(chain: Chain, registry: str, record: ListedChain) -> Iterator[Difference]:
    for kind, ours, theirs in (
        ("genesis", chain.genesis, record.genesis),
        ("SS58 prefix", chain.ss58_prefix, record.ss58_prefix),
        ("symbol", chain.symbol, record.symbol),
        ("decimals", chain.decimals, record.decimals),
    ):
        if theirs is None or theirs == ours or (kind, chain.name, theirs) in SETTLED:
            continue
        yield Difference(
            kind=kind,
            of=chain.name,
            bundled=str(ours),
            listed=f"{theirs} ({registry})",
            change="renamed" if kind == "symbol" else "",
            # Another genesis is another chain, another number of decimals another amount.
            failure=f"{chain.name} has the {kind} {theirs} in {registry}, and {ours} here"
            if kind in ("genesis", "decimals")
            else "",
        )


def _compare_endpoints(chain: Chain, records: Iterable[ListedChain]) -> Iterator[Difference]:
    listed = frozenset().union(*(record.endpoints for record in records))
    for endpoint in chain.endpoints:
        if is_dead(endpoint):
            yield Difference(
                kind="endpoint",
                of=chain.name,
                bundled=endpoint,
                listed="dead host",
                failure=f"{chain.name} has the endpoint {endpoint}, whose host is dead: remove it",
            )
        elif endpoint not in listed:
            yield Difference(kind="endpoint", of=chain.name, bundled=endpoint, listed="not listed")
    for endpoint in sorted(listed - set(chain.endpoints)):
        if not is_dead(endpoint):
            yield Difference(kind="endpoint", of=chain.name, bundled="", listed=endpoint)


def compare_versions(bundled: Mapping[str, int], listed: Mapping[str, int]) -> Iterator[Difference]:
    """Give the chains whose bundled runtime table, by spec version, is not the one that its package
    has now."""
    for chain, version in bundled.items():
        theirs = listed[chain]
        if theirs != version:
            yield Difference(
                kind="spec version",
                of=chain,
                bundled=str(version),
                listed=str(theirs),
                failure=(
                    f"the table of {chain} is of {version}, and its package has {theirs}: "
                    "bundle that"
                )
                if theirs > version
                else "",
            )


def compare_routes(bundled: RouteSources, listed: RouteSources) -> Iterator[Difference]:
    """Give the rows whose sources or hops are not the same any more.

    It is a failure if a source of one is gone, or if the trust facts, by which the hops of *listed*
    were found, want others.
    """
    nothing: tuple[frozenset[str], str] = (frozenset(), "")
    for key in sorted(bundled.keys() | listed.keys()):
        (ours, way), (theirs, other) = bundled.get(key, nothing), listed.get(key, nothing)
        if (ours, way) == (theirs, other):
            continue
        source, destination, asset = key
        route = f"the route of {asset} from {source} to {destination}"
        gone = ours - theirs
        failure = ""
        if way and other and way != other:
            failure = (
                f"{route} contradicts the trust facts: they have its reserve where it goes "
                f"{other}, and it goes {way}"
            )
        elif gone:
            failure = f"{route} rests on {' and '.join(sorted(gone))}, which lists it no more"
        yield Difference(
            kind="route",
            of=f"{source} → {destination}: {asset}",
            bundled=" ".join([*sorted(ours), way]).strip(),
            listed=" ".join([*sorted(theirs), other]).strip(),
            change="opened"
            if not way
            else "closed"
            if not other
            else "moved"
            if way != other
            else "",
            failure=failure,
        )


def compare_closures(before: RouteSources, now: RouteSources) -> Iterator[Difference]:
    """Give the ways that the trust facts close and a package lists *now* that didn't *before*: each
    is a failure.

    Where a row of routes has its hops, these have the reason for which they are closed.
    """
    for key, (packages, reason) in sorted(now.items()):
        source, destination, asset = key
        new = sorted(packages - before.get(key, (frozenset(), ""))[0])
        if new:
            yield Difference(
                kind="trust",
                of=f"{source} → {destination}: {asset}",
                bundled="closed",
                listed=" ".join(new),
                change="opened",
                failure=(
                    f"{' and '.join(new)} now has {asset} of {source} on {destination} too, "
                    f"and the trust facts close that way: {reason}"
                ),
            )


def compare_assets(bundled: AssetFacts, listed: AssetFacts) -> Iterator[Difference]:
    """Give the assets that came, went or changed; it is a failure if decimals or location of one
    changed."""
    for key in sorted(bundled.keys() | listed.keys()):
        ours, theirs = bundled.get(key), listed.get(key)
        if ours == theirs:
            continue
        chain, number = key
        if ours is None or theirs is None:
            change, changed = "opened" if ours is None else "closed", False
        else:
            changed = ours[1:] != theirs[1:]
            change = "moved" if ours[2:] != theirs[2:] else "" if changed else "renamed"
        yield Difference(
            kind="asset",
            of=f"{chain}: {number}",
            bundled="" if ours is None else " ".join(map(str, ours)),
            listed="" if theirs is None else " ".join(map(str, theirs)),
            change=change,
            failure=(
                f"asset {number} of {chain} has other decimals, or another location, than before"
            )
            if changed
            else "",
        )
