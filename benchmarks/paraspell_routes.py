"""Count what ParaSpell's registry lists as transfers: what is built here, and why the rest is
refused.

    .venv/bin/python -m benchmarks.paraspell_routes          # the table of reasons
    .venv/bin/python -m benchmarks.paraspell_routes --all    # each (from, to, asset) with its
    answer

An asset counts from each chain to each other one that lists it at the same location, under the same
relay chain or beyond a bridge.  Test networks don't count, and Ethereum doesn't.
"""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scenarioctl.chains.assets import Asset, Assets
from scenarioctl.chains.locations import absolute, across, seen_from
from scenarioctl.chains.registry import Chain, Registry, find_closed
from scenarioctl.errors import InvalidRequest, NotFound
from scenarioctl.transactions.transfer.request import OnlyChecked, OnlyConnected, Transfer
from scenarioctl.transactions.transfer.routes import check_route, find_route
from scenarioctl.transactions.transfer.ways import find_sent_asset
from tools.curate_assets import CHAINS, NATIVE_ONLY, PARASPELL, object_literal, write_location
from tools.npm_packages import unpack

_NETWORKS = {"DOT": "Polkadot", "KSM": "Kusama"}
#: The para id of none: locations in the package are seen from a sibling of each chain.
_SIBLING = 2**32 - 1
_NAMES = {package: ours for ours, (package, *_) in (CHAINS | NATIVE_ONLY).items()}
#: Words of an answer -> what stands for all that have them, in the table.
_GROUPS = {
    "by check": "by check",
    "is not a chain here": "refused: a chain that isn't known",
    "closed": "refused: a chain that has closed, or backs the asset",
    "for delivery to": "built with a connection",
    "not known to accept fees": "built with another asset that pays on the destination",
    "joins only their Asset Hubs": "refused: over the bridge only in separate transfers",
    "is not in the registry": "refused: the chain that backs it is not known",
    "set genesis in": "refused: the genesis of a chain is not known; once set, by check",
    "known to be registered on both": (
        "refused: fewer than two registries list it on both sides of the bridge"
    ),
    "from other chains are not known": (
        "refused: what a chain accepts is not known, without a way to check"
    ),
    "take it from each other": (
        "refused: it is not known that the chain that backs it and the Asset Hub take it from "
        "each other"
    ),
    "does not accept": "refused: no reserve that the other chain accepts",
}
REGISTRY = Registry()
ASSETS = Assets(REGISTRY)


def main() -> int:
    answers = list(count())
    if "--all" in sys.argv[1:]:
        print("\n".join("\t".join(each) for each in answers))
    else:
        print(f"{len(answers)} transfers of npm {PARASPELL}\n\n| transfers | answer |\n|---|---|")
        reasons = Counter(generalize(answer) for *_, answer in answers)
        print("\n".join(f"| {number} | {reason} |" for reason, number in reasons.most_common()))
    return 0


def count() -> Iterator[tuple[str, str, str, str]]:
    """Give each source, destination and asset, by its location as the source's relay chain sees it,
    with its answer."""
    listed = dict(read_listed())
    for source, (network, held) in listed.items():
        for destination, (other, taken) in listed.items():
            if source != destination:
                for identity in sorted(held & {across(each, other, network) for each in taken}):
                    yield (
                        source,
                        destination,
                        identity or "relay",
                        answer_to(source, destination, identity),
                    )


def read_listed() -> Iterator[tuple[str, tuple[str, set[str]]]]:
    """Give the chains of the package with their network, and the assets of each as its relay chain
    sees them."""
    with tempfile.TemporaryDirectory() as folder:
        module = unpack(PARASPELL, "package/dist/index.mjs", Path(folder))
    for name in re.findall(r"(?m)^var (\w+) = \{\n\t(?:\w+: .*\n\t)*?relaychainSymbol:", module):
        record = object_literal(module, name)
        network = _NETWORKS.get(record["relaychainSymbol"])
        if network is not None:
            places = [
                write_location(each["location"], None)
                for each in record["assets"]
                if "location" in each
            ]
            yield name, (network, {absolute(place, _SIBLING) for place in places})


def answer_to(source: str, destination: str, identity: str) -> str:
    """Return what the transfer of an asset answers: how it is built, or the refusal."""
    unknown = [name for name in (source, destination) if name not in _NAMES]
    if unknown:
        return (
            f"refused: {unknown[0]} "
            f"{'has closed' if find_closed(unknown[0]) else 'is not a chain here'}"
        )
    start, end = (REGISTRY.find(_NAMES[name]) for name in (source, destination))
    asset = find_asset(start, identity)
    if asset is None:
        return "the asset is not listed here"
    transfer = Transfer(
        source=start,
        destination=end,
        asset=asset,
        amount=10**15,
        beneficiary=bytes(range(1, 1 + end.account_format.length)),
    )
    try:
        check_route(transfer, ASSETS)
        find_route(transfer, ASSETS, fee_settled=False)
    except OnlyConnected:
        return "built with a connection"
    except OnlyChecked as refused:
        return f"by check: {refused}"
    except InvalidRequest as refused:
        return f"refused: {refused}"
    return "built offline"


def find_asset(chain: Chain, identity: str) -> Asset | None:
    location = seen_from(identity, chain.para_id)
    listed = ASSETS.at(chain, location)
    if listed is not None or chain.role != "parachain":
        return listed
    try:
        return find_sent_asset(ASSETS, chain, location, field="asset")
    except (InvalidRequest, NotFound):
        return None


def generalize(answer: str) -> str:
    """Return what stands for *answer* in the table."""
    for words, group in _GROUPS.items():
        if words in answer:
            return group
    return "refused: another reason" if answer.startswith("refused") else answer


if __name__ == "__main__":
    sys.exit(main())
