"""The assets that Snowbridge's registry lists, of Ethereum, Polkadot and Kusama, read from its npm
package."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from scenarioctl.chains.locations import absolute, across, seen_from
from tools.npm_packages import unpack

SNOWBRIDGE = "@snowbridge/registry@1.1.12"
_MEMBER = "package/dist/polkadot_mainnet_bridge_info.g.js"
#: Our name -> its key.
_CHAINS = {
    "assetHub": "polkadot_1000",
    "hydraDx": "polkadot_2034",
    "assetHub_kusama": "kusama_1000",
}
#: How it writes ether itself.
_ETHER = "0x0000000000000000000000000000000000000000"


#: Its ids of chains whose assets go to Ethereum by the Asset Hub of Polkadot: that itself, and
#: Hydration.
_SENDERS = (1000, 2034)


class Token(NamedTuple):
    """A token of Ethereum that goes to it by the Asset Hub of Polkadot."""

    #: Of its contract; that of ether is all zeros.
    address: str
    symbol: str
    decimals: int
    #: As Ethereum sees it.
    location: str


def read_snowbridge(folder: Path, package: str = SNOWBRIDGE) -> Mapping[str, set[str]]:
    """Return the locations of the assets by chain, as each chain sees them."""
    module = unpack(package, _MEMBER, folder)
    return {chain: set(_locations(module, key).values()) for chain, key in _CHAINS.items()}


def read_tokens(folder: Path, package: str = SNOWBRIDGE) -> list[Token]:
    """Return the tokens that go to Ethereum by the Asset Hub of Polkadot."""
    return list(_tokens(unpack(package, _MEMBER, folder)))


def _tokens(module: str) -> Iterator[Token]:
    listed = dict(_assets(module, "ethereum_1"))
    held = _locations(module, _CHAINS["assetHub"])
    routes = re.findall(
        (
            rf'from: {{\s*kind: "polkadot",\s*id: '
            rf'(?:{"|".join(map(str, _SENDERS))}),\s*}},\s*to: {{\s*kind: "ethereum",\s*id: '
            rf"1,\s*}},\s*assets: \[(.*?)\]"
        ),
        module,
        re.DOTALL,
    )
    if len(routes) != len(_SENDERS):
        raise SystemExit(f"{SNOWBRIDGE} has {len(routes)} of {len(_SENDERS)} routes to Ethereum")
    for address in dict.fromkeys(re.findall(r"0x[0-9a-fA-F]{40}", "".join(routes))):
        symbol = re.search(r'symbol: "(.*?)"', listed[address])
        decimals = re.search(r"decimals: (\d+)", listed[address])
        if symbol is None or decimals is None:
            raise SystemExit(f"{SNOWBRIDGE} has no symbol or decimals of {address}")
        outside = across(absolute(held[address], 1000), "Polkadot", "Ethereum:1")
        yield Token(
            address.lower(), symbol.group(1), int(decimals.group(1)), seen_from(outside, None)
        )


def _locations(module: str, key: str) -> dict[str, str]:
    """Return the locations of the assets of a chain by the addresses of their contracts on
    Ethereum."""
    ethereum = "2/GlobalConsensus(Ethereum:1)"
    found = {}
    for token, fields in _assets(module, key):
        own = re.search(r"\n( +)location: {(.*?)\n\1}", fields, re.DOTALL)
        if own is not None:
            found[token] = _write(own.group(2))
        elif token == _ETHER:
            found[token] = ethereum
        else:
            found[token] = f"{ethereum}/AccountKey20({token.lower()})"
    return found


def _assets(module: str, key: str) -> Iterator[tuple[str, str]]:
    """Give the address and the fields of each asset of a chain."""
    # The lines of an object end with one of its closing bracket at the same depth.
    match = re.search(rf"\n( +){key}: {{\n(.*?)\n\1}}", module, re.DOTALL)
    if match is None:
        raise SystemExit(f"{SNOWBRIDGE} has no {key}")
    for _, token, fields in re.findall(
        r'\n( +)"(0x[0-9a-fA-F]{40})": {\n(.*?)\n\1}', match.group(2), re.DOTALL
    ):
        yield token, fields


def _write(literal: str) -> str:
    """Return the location that a literal of the package writes: that of an asset of Polkadot or
    Kusama."""
    parents = re.search(r"parents: (\d)", literal)
    if parents is None:
        raise SystemExit(f"{SNOWBRIDGE} has a location without parents: {literal}")
    junctions = []
    for name, value in re.findall(
        r"(globalConsensus|parachain|palletInstance|generalIndex): {?\s*(\w+)", literal
    ):
        junctions.append(f"{name[0].upper()}{name[1:]}({value.capitalize()})")
    return f"{parents.group(1)}/{'/'.join(junctions) or 'Here'}"
