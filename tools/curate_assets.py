"""Make scenarioctl/chains/assets.json from npm packages.

    python -m tools.curate_assets            write the table
    python -m tools.curate_assets --check    compare; exit 1 if it differs

`npm pack` downloads the packages into a temporary folder.  None of their code is run or kept.  The
tool reads only facts: ids, symbols, decimals, existential deposits, locations.  If the packages
disagree, the first one wins. The tokens of Ethereum on the Asset Hub of Polkadot are from
SNOWBRIDGE too.

The table has a line with READ and one line per chain, so that a reader parses only the line it
needs.  The rows are [id, symbol, decimals, existential deposit, kind, location, pays fees on
arrival, name, canonical] without trailing nulls.  The default kind is "assets", whose location
follows from the id.  `chains/locations.py` describes how locations are written.

The canonical asset is the one that a symbol means on its chain; `mark_canonical` says which, and
why.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from scenarioctl.chains.trust import TRUST
from tools import data_file
from tools.npm_packages import unpack
from tools.snowbridge_assets import SNOWBRIDGE, Token, read_tokens

TARGET = Path(__file__).resolve().parent.parent / "scenarioctl" / "chains" / "assets.json"
#: When the packages were read last.
READ = "2026-11-23"
PARASPELL = "@paraspell/assets@14.1.1"
PARITY = "@substrate/asset-transfer-api-registry@0.3.0"

#: Our name -> the name in PARASPELL; relay chain and para id in PARITY.
CHAINS: dict[str, tuple[str, str, str]] = {
    "polkadot": ("Polkadot", "polkadot", "0"),
    "assetHub": ("AssetHubPolkadot", "polkadot", "1000"),
    "hydraDx": ("Hydration", "polkadot", "2034"),
    "kusama": ("Kusama", "kusama", "0"),
    "assetHub_kusama": ("AssetHubKusama", "kusama", "1000"),
    "paseo": ("Paseo", "paseo", "0"),
    "assetHub_paseo": ("AssetHubPaseo", "paseo", "1000"),
}
#: Chains of which only the native asset is listed: our name -> the name in PARASPELL; its para id.
NATIVE_ONLY: dict[str, tuple[str, int]] = {
    "people": ("PeoplePolkadot", 1004),
    "bridgeHub": ("BridgeHubPolkadot", 1002),
    "coretime": ("CoretimePolkadot", 1005),
    "collectives": ("Collectives", 1001),
    "people_kusama": ("PeopleKusama", 1004),
    "bridgeHub_kusama": ("BridgeHubKusama", 1002),
    "coretime_kusama": ("CoretimeKusama", 1005),
    "encointer": ("Encointer", 1001),
    "bifrost": ("BifrostPolkadot", 2030),
    "bifrost_kusama": ("BifrostKusama", 2001),
    "astar": ("Astar", 2006),
    "shiden": ("Shiden", 2007),
    "mythos": ("Mythos", 3369),
    "unique": ("Unique", 2037),
    "neuroweb": ("NeuroWeb", 2043),
    "energyWebX": ("EnergyWebX", 3345),
    "pendulum": ("Pendulum", 2094),
    "basilisk": ("Basilisk", 2090),
    "acala": ("Acala", 2000),
    "karura": ("Karura", 2000),
    "robonomics": ("RobonomicsPolkadot", 3388),
    "peaq": ("Peaq", 3338),
    "darwinia": ("Darwinia", 2046),
    "heima": ("Heima", 2013),
    "jamton": ("Jamton", 3397),
    "xode": ("Xode", 3417),
}
RELAYS = ("polkadot", "kusama", "paseo")
DEX_PARA_ID = 2034

#: Para id of a location's first parachain -> name of the chain.
PARACHAINS = {
    2000: "Acala",
    2001: "Bifrost",
    2004: "Moonbeam",
    2006: "Astar",
    2023: "Moonriver",
    2030: "Bifrost",
    2031: "Centrifuge",
    2032: "Interlay",
    2034: "Hydration",
    2035: "Phala",
}
#: Names that the packages lack.
NAMES = {
    ("polkadot", "0"): "Polkadot",
    ("assetHub", "DOT"): "Polkadot",
    ("kusama", "0"): "Kusama",
    ("assetHub_kusama", "KSM"): "Kusama",
    ("paseo", "0"): "Paseo",
    ("assetHub_paseo", "PAS"): "Paseo",
    ("hydraDx", "0"): "Hydration",
    ("hydraDx", "1"): "Lerna, the Omnipool's hub asset",
    ("hydraDx", "5"): "Polkadot",
    ("hydraDx", "10"): "Tether USD of Asset Hub",
    ("hydraDx", "22"): "USD Coin of Asset Hub",
    ("assetHub", "1984"): "Tether USD",
    ("assetHub", "1337"): "USD Coin",
    ("assetHub_kusama", "1984"): "Tether USD",
}
#: Assets in which a chain that prices its fees is not known to take any: (chain, id).
UNPRICED = {
    # Galactic's SDK sends USDT along with it, to pay there.
    ("hydraDx", "1000085"),
}
#: The asset that a symbol means where several claim it, or where anybody may claim it: (chain,
#: symbol) -> id.
CANONICAL = {
    # The issuers' own lists: tether.to "Supported protocols" and Circle's "USDC contract
    # addresses".
    ("assetHub", "usdt"): "1984",
    ("assetHub", "usdc"): "1337",
    ("assetHub_kusama", "usdt"): "1984",
    # Circle issues none on Kusama: this is the one of Polkadot's Asset Hub, over the bridge.
    (
        "assetHub_kusama",
        "usdc",
    ): "2/GlobalConsensus(Polkadot)/Parachain(1000)/PalletInstance(50)/GeneralIndex(1337)",
    # The test network repeats the issuers' numbers.
    ("assetHub_paseo", "usdt"): "1984",
    ("assetHub_paseo", "usdc"): "1337",
    # The issuers' own, from Asset Hub; those of Wormhole, Acala and Ethereum are other claims on
    # them.
    ("hydraDx", "usdt"): "10",
    ("hydraDx", "usdc"): "22",
    # Mythical Games moved its token from Ethereum to its own parachain.
    ("assetHub", "myth"): "1/Parachain(3369)",
    # The location that NeuroWeb's balances pallet has, and that Hydration lists.
    ("assetHub", "neuro"): "1/Parachain(2043)/PalletInstance(10)",
    ("assetHub_paseo", "neuro"): "1/Parachain(2043)/PalletInstance(10)",
    # Threshold's second contract; the other is its retired first one (docs.threshold.network,
    # "Contract addresses").
    (
        "assetHub",
        "tbtc",
    ): "2/GlobalConsensus(Ethereum:1)/AccountKey20(0x18084fba666a33d37592fa2633fd49a74dd93a88)",
    (
        "assetHub_kusama",
        "tbtc",
    ): "2/GlobalConsensus(Ethereum:1)/AccountKey20(0x18084fba666a33d37592fa2633fd49a74dd93a88)",
}
Row = list[Any]


def main() -> int:
    return data_file.run(TARGET, curate, sources="two npm packages")


def curate(paraspell: str = PARASPELL, parity: str = PARITY, snowbridge: str = SNOWBRIDGE) -> str:
    """Return the whole text of assets.json, made from these versions of the packages."""
    with tempfile.TemporaryDirectory() as folder:
        module = unpack(paraspell, "package/dist/index.mjs", Path(folder))
        registry = json.loads(unpack(parity, "package/docs/registry.json", Path(folder)))
        tokens = read_tokens(Path(folder), snowbridge)
    lines = [f'"read":{json.dumps(READ)}']
    for chain, (name, relay, para_id) in CHAINS.items():
        rows = read_paraspell(chain, object_literal(module, name))
        known = {row[0] for row in rows}
        rows += [row for row in read_parity(chain, registry[relay][para_id]) if row[0] not in known]
        if chain == "assetHub":
            rows += [
                row for row in map(token_on_hub, tokens) if row is not None and row[0] not in known
            ]
        if chain == "hydraDx":
            # PARASPELL leaves it out.
            rows.append(["1", "LRNA", 12, None, "tokens", "0/GeneralIndex(1)", None, ""])
        for row in rows:
            row[7] = NAMES.get((chain, row[0])) or origin(row[5], row[1])
            row.append(None)
        mark_canonical(chain, rows)
        rows.sort(key=order)
        lines.append(
            f"{json.dumps(chain)}:{json.dumps([trim(row) for row in rows], separators=(',', ':'))}"
        )
    for chain, (name, own) in NATIVE_ONLY.items():
        row = read_native(object_literal(module, name), own)
        # As its runtime sees it: PARASPELL has another place of Basilisk's.
        row[5] = TRUST[chain].native
        lines.append(f"{json.dumps(chain)}:{json.dumps([trim(row)], separators=(',', ':'))}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def token_on_hub(token: Token) -> Row | None:
    """Return a token of Ethereum's own as the Asset Hub of Polkadot lists it; None for another one.

    Its state has no symbol and decimals of some, so those on Ethereum stand.
    """
    if not token.location.startswith("0/AccountKey20("):
        return None
    place = f"2/GlobalConsensus(Ethereum:1)/AccountKey20({token.address})"
    return [place, token.symbol, token.decimals, None, "foreign", place, None, ""]


def mark_canonical(chain: str, rows: list[Row]) -> None:
    """Set the last column of each asset that its symbol means.

    That is the native one, then what CANONICAL says.  Of the rest, an asset is meant where it alone
    has its symbol and the symbol was not for anybody to choose: anybody can create an asset of
    pallet 50 of an Asset Hub, while a foreign one is named by governance or by the chain that
    issues it, and one of Hydration by governance.
    """
    claims: dict[str, list[Row]] = {}
    for row in rows:
        claims.setdefault(row[1].casefold(), []).append(row)
    for symbol, claimants in claims.items():
        native = [row for row in claimants if row[4] == "native"]
        chosen = CANONICAL.get((chain, symbol))
        if native:
            fits = native
        elif chosen:
            fits = [row for row in claimants if row[0] == chosen]
            if not fits:
                raise SystemExit(
                    f"CANONICAL names {chosen} of {chain}, which is not {symbol} there"
                )
        else:
            fits = [row for row in claimants if not anybodys(row)]
        if len(fits) == 1:
            fits[0][8] = True


def anybodys(row: Row) -> bool:
    """Tell whether anybody could have given the asset its symbol, on its chain or on the Asset Hub
    that issues it."""
    return row[4] == "assets" or "PalletInstance(50)/GeneralIndex(" in (row[5] or "")


def object_literal(module: str, name: str) -> dict[str, Any]:
    """Return the object that the JavaScript module assigns to *name*: JSON but for its unquoted
    keys."""
    start = module.index(f"\nvar {name} = {{") + len(f"\nvar {name} = ")
    text = module[start : module.index("\n};", start) + 2]
    literal: dict[str, Any] = json.loads(re.sub(r"(?m)^(\s*)(\w+):", r'\1"\2":', text))
    return literal


def read_paraspell(chain: str, record: dict[str, Any]) -> list[Row]:
    rows = []
    hub = chain.startswith("assetHub")
    for asset in record["assets"]:
        place = write_location(asset["location"], own_para_id(chain))
        deposit = int(asset["existentialDeposit"]) if "existentialDeposit" in asset else None
        pays = bool(asset.get("isFeeAsset")) if hub else None
        if asset.get("isNative"):
            identity, kind = (asset["symbol"] if hub else "0"), "native"
            place = "1/Here" if hub else "0/Here" if chain in RELAYS else "0/GeneralIndex(0)"
        elif hub:
            # An asset of pallet 50 goes by its number, one from elsewhere by its location.
            number = asset.get("assetId")
            identity, kind = (number, "assets") if number else (place, "foreign")
        else:
            identity = asset["assetId"]
            if (chain, identity) in UNPRICED:
                pays = False
            kind = "erc20" if place.startswith("0/AccountKey20") else "tokens"
        rows.append([identity, asset["symbol"], asset["decimals"], deposit, kind, place, pays, ""])
    return rows


def read_native(record: dict[str, Any], para_id: int) -> Row:
    """Return the native asset of the parachain *para_id*: the first of those that the package calls
    so."""
    asset = next(each for each in record["assets"] if each.get("isNative"))
    place = write_location(asset["location"], para_id)
    symbol, deposit = asset["symbol"], int(asset["existentialDeposit"])
    return [symbol, symbol, asset["decimals"], deposit, "native", place, True, "", True]


def read_parity(chain: str, record: dict[str, Any]) -> list[Row]:
    """Return what only PARITY lists: numbers and symbols, without decimals on an Asset Hub."""
    rows: list[Row] = [
        [
            number,
            symbol.strip(),
            None,
            None,
            "assets",
            f"0/PalletInstance(50)/GeneralIndex({number})",
            None,
            "",
        ]
        for number, symbol in record["assetsInfo"].items()
        # Anybody can register an asset, under any name.
        if number.isdigit() and symbol.strip() and symbol.isascii() and symbol.isprintable()
    ]
    if chain == "hydraDx":
        for asset in record.get("xcAssetsData", ()):
            if isinstance(asset["asset"], str) and asset["asset"].isdigit():
                place = write_location(
                    json.loads(asset["xcmV1MultiLocation"])["v1"], own_para_id(chain)
                )
                rows.append(
                    [
                        asset["asset"],
                        asset["symbol"],
                        asset["decimals"],
                        None,
                        "tokens",
                        place,
                        None,
                        "",
                    ]
                )
    return rows


def own_para_id(chain: str) -> int | None:
    return {"hydraDx": DEX_PARA_ID}.get(chain, 1000 if chain.startswith("assetHub") else None)


def write_location(location: dict[str, Any], own: int | None) -> str:
    """Return a package's location as the parachain *own* sees it; the packages give it as seen from
    a sibling."""
    parents = int(location["parents"])
    interior = location["interior"]
    junctions: list[Any] = []
    if isinstance(interior, dict):
        name, inner = next(iter(interior.items()))
        if name.lower() != "here":
            junctions = inner if isinstance(inner, list) else [inner]
    parts = [write_junction(junction) for junction in junctions]
    if parents == 1 and parts and parts[0] == f"Parachain({own})":
        parents, parts = 0, parts[1:]
    return f"{parents}/{'/'.join(parts) or 'Here'}"


def write_junction(junction: dict[str, Any]) -> str:
    name, value = next(iter(junction.items()))
    name = name[0].upper() + name[1:]
    if name == "GlobalConsensus" and isinstance(value, str):
        return f"GlobalConsensus({value})"
    if name == "GlobalConsensus":
        network, inner = next(iter(value.items()))
        network = network.capitalize()
        return (
            f"GlobalConsensus({network}:{inner['chainId']})"
            if inner
            else f"GlobalConsensus({network})"
        )
    if name == "AccountKey20":
        return f"AccountKey20({value['key'].lower()})"
    if name == "GeneralKey":
        data = value["data"][: 2 + 2 * int(value["length"])] if isinstance(value, dict) else value
        return f"GeneralKey({data.lower()})"
    return f"{name}({int(value)})"


def origin(place: str, symbol: str) -> str:
    """Return where an asset comes from, in a few words that tell look-alikes apart."""
    parts = place.split("/")
    if parts[0] == "2":
        network = parts[1].removeprefix("GlobalConsensus(").rstrip(")").split(":")[0]
        return f"{symbol} of {network}"
    first = parts[1]
    if first.startswith("Parachain("):
        number = int(first[10:-1])
        if number == 1000:
            return f"{symbol} of Asset Hub, {parts[-1][13:-1]} there"
        return f"{symbol} of {PARACHAINS.get(number, f'parachain {number}')}"
    if first == "GeneralKey(0x7768)":
        return f"{symbol} of Wormhole"
    return ""


def trim(row: Row) -> Row:
    """Return *row* without what follows from the rest."""
    short = list(row)
    if short[4] == "assets":
        short[4] = short[5] = None
    while short[-1] in (None, ""):
        short.pop()
    return short


def order(row: Row) -> tuple[int, int, str]:
    return (
        0 if row[4] == "native" else 1,
        int(row[0]) if row[0].isdigit() else 2**64,
        row[0],
    )


if __name__ == "__main__":
    sys.exit(main())
