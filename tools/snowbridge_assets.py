"""The assets that Snowbridge's registry lists, of Ethereum, Polkadot and Kusama, read from its npm package."""

import re
from collections.abc import Mapping
from pathlib import Path

from tools.curate_assets import unpack

SNOWBRIDGE = "@snowbridge/registry@1.1.12"
_MEMBER = "package/dist/polkadot_mainnet_bridge_info.g.js"
#: Our name -> its key.
_CHAINS = {"assetHub": "polkadot_1000", "hydraDx": "polkadot_2034", "assetHub_kusama": "kusama_1000"}
#: How it writes ether itself.
_ETHER = "0x0000000000000000000000000000000000000000"


def read_snowbridge(folder: Path) -> Mapping[str, set[str]]:
    """Return the locations of the assets by chain, as each chain sees them."""
    module = unpack(SNOWBRIDGE, _MEMBER, folder)
    return {chain: set(_locations(module, key)) for chain, key in _CHAINS.items()}


def _locations(module: str, key: str) -> list[str]:
    # The lines of an object end with one of its closing bracket at the same depth.
    match = re.search(rf"\n( +){key}: {{\n(.*?)\n\1}}", module, re.DOTALL)
    if match is None:
        raise SystemExit(f"{SNOWBRIDGE} has no {key}")
    ethereum = "2/GlobalConsensus(Ethereum:1)"
    found = []
    for _, token, fields in re.findall(
        r'\n( +)"(0x[0-9a-fA-F]{40})": {\n(.*?)\n\1}', match.group(2), re.DOTALL
    ):
        own = re.search(r"\n( +)location: {(.*?)\n\1}", fields, re.DOTALL)
        if own is not None:
            found.append(_write(own.group(2)))
        elif token == _ETHER:
            found.append(ethereum)
        else:
            found.append(f"{ethereum}/AccountKey20({token.lower()})")
    return found


def _write(literal: str) -> str:
    """Return the location that a literal of the package writes: that of an asset of Polkadot or Kusama."""
    parents = re.search(r"parents: (\d)", literal)
    if parents is None:
        raise SystemExit(f"{SNOWBRIDGE} has a location without parents: {literal}")
    junctions = []
    for name, value in re.findall(
        r"(globalConsensus|parachain|palletInstance|generalIndex): {?\s*(\w+)", literal
    ):
        junctions.append(f"{name[0].upper()}{name[1:]}({value.capitalize()})")
    return f"{parents.group(1)}/{'/'.join(junctions) or 'Here'}"
