"""What other people's registries say of chains: endpoints of polkadot.js, identities of SubWallet,
read from their npm packages.

Only facts are read: none of the packages' code is run or kept.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scenarioctl.errors import ScenarioctlError
from tools.npm_packages import unpack

POLKADOT_JS = "@polkadot/apps-config"
SUBWALLET = "@subwallet/chain-list"
#: Hosts that polkadot.js still lists, and that don't answer or leave out what we ask: read in issue
#: 16, 2026-11-22.
DEAD_HOSTS = ("radiumblock.co", "radiumblock.xyz", "ibp.network", "dotters.network", "amforc.com")

#: Files of POLKADOT_JS -> relay chain, and the names of the lists of its system chains, other
#: parachains, and itself.
_FILES = {
    "productionRelayPolkadot": "polkadot",
    "productionRelayKusama": "kusama",
    "testingRelayPaseo": "paseo",
}
_STATUS = {"ACTIVE": True, "INACTIVE": False, "STOPPED": False}
#: Relay chains that SUBWALLET calls otherwise.
_SLUGS = {"paseoTest": "paseo"}
#: Relay chain, and para id; None for the relay chain itself.
Place = tuple[str, int | None]


@dataclass(frozen=True, kw_only=True)
class ListedChain:
    """One chain as a registry has it; None where it has nothing."""

    endpoints: frozenset[str] = frozenset()
    genesis: str | None = None
    ss58_prefix: int | None = None
    symbol: str | None = None
    decimals: int | None = None


@contextmanager
def reading(package: str, expected: str) -> Iterator[None]:
    """End with a sentence where what is read inside is not as *expected*."""
    try:
        yield
    except (
        AttributeError,
        IndexError,
        KeyError,
        ScenarioctlError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        raise SystemExit(
            f"{package} is written in another way now, expected {expected} "
            f"({type(error).__name__}: {error})"
        ) from None


def read_polkadot_js(package: str, folder: Path) -> Mapping[Place, ListedChain]:
    """Return the chains of the version *package* of polkadot.js by their place, with their
    endpoints."""
    found: dict[Place, ListedChain] = {}
    for file, relay in _FILES.items():
        module = unpack(package, f"package/endpoints/{file}.js", folder)
        with reading(package, f"entries with providers in endpoints/{file}.js"):
            found |= read_endpoints(module, relay)
    return found


def read_endpoints(module: str, relay: str) -> Mapping[Place, ListedChain]:
    """Return the chains in one file of POLKADOT_JS; ValueError if it has none."""
    # What a comment holds was taken out of the list.
    module = re.sub(r"(?m)(^|\s)//.*$", "", module)
    found: dict[Place, ListedChain] = {}
    for entry in re.finditer(
        r"info: '(?P<info>\w+)'(?P<rest>.*?)providers: {(?P<providers>.*?)}", module, re.DOTALL
    ):
        number = re.search(r"paraId: (\d+)", entry["rest"])
        own = entry["info"] == relay
        if (number is None and not own) or "isUnreachable: true" in entry["rest"]:
            continue
        endpoints = frozenset(re.findall(r"'(wss://[^']+)'", entry["providers"]))
        place = (relay, None if number is None else int(number[1]))
        # A chain that nobody serves is kept in the list, without providers.
        if endpoints:
            found[place] = ListedChain(endpoints=endpoints)
    if not found:
        raise ValueError("no entry was found")
    return found


def read_subwallet(package: str, folder: Path) -> Mapping[Place, ListedChain]:
    """Return the chains of the version *package* of SubWallet that it calls active, by their
    place."""
    text = unpack(package, "package/data/ChainInfo.json", folder)
    with reading(package, "chains with chainStatus and substrateInfo in data/ChainInfo.json"):
        return read_chain_info(text)


def read_chain_info(text: str) -> Mapping[Place, ListedChain]:
    """Return the active chains of SUBWALLET's file; ValueError or KeyError if it has another
    form."""
    found: dict[Place, ListedChain] = {}
    for slug, chain in json.loads(text).items():
        facts = chain["substrateInfo"]
        if facts is None or not _STATUS[chain["chainStatus"]]:
            continue
        relay = facts["relaySlug"] or slug
        place = (_SLUGS.get(relay, relay), facts["paraId"])
        found[place] = ListedChain(
            endpoints=frozenset(
                url for url in chain["providers"].values() if url.startswith("wss://")
            ),
            genesis=facts["genesisHash"],
            ss58_prefix=facts["addressPrefix"],
            symbol=facts["symbol"],
            decimals=facts["decimals"],
        )
    return found


def is_dead(endpoint: str) -> bool:
    """Tell whether the host of *endpoint* is one of DEAD_HOSTS, or under it."""
    host = endpoint.partition("//")[2].partition("/")[0].partition(":")[0]
    return any(host == dead or host.endswith(f".{dead}") for dead in DEAD_HOSTS)
