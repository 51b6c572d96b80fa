"""Bad input: whatever is typed, the answer is one sentence that helps, a code and an exit status, and nothing is stored."""

import base64
import json
import random
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import lz4.frame
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarioctl.cli.main import COMMANDS
from tests.conftest import BOB, BOB_HEX, Run
from tests.test_parity import commands

EXITS = {
    "bad_json": 2,
    "invalid_request": 2,
    "too_large": 2,
    "not_found": 3,
    "conflict": 4,
    "store_failed": 2,
    "chain_unreachable": 5,
}

Line = tuple[str, ...]
#: Name -> content.
Files = Mapping[str, str | bytes]


def case(
    name: str,
    line: Line,
    error: str,
    code: str = "invalid_request",
    *,
    files: Files | None = None,
    stdin: str = "",
    imported: str = "",
    usage: str = "",
) -> Any:
    """Return a row: `{id}` in *line* is the scenario made by importing the file *imported*.

    *stdin* is a file's name; *usage* the command whose help the answer names.
    """
    return pytest.param(line, error, code, files or {}, stdin, imported, usage, id=name)


def options(given: Mapping[str, str | None], changes: Mapping[str, str | None]) -> Line:
    """Return `--name value` for each; a value of None leaves it out."""
    return tuple(
        word
        for name, value in {**given, **changes}.items()
        if value is not None
        for word in (f"--{name.replace('_', '-')}", value)
    )


def transfer(**changes: str | None) -> Line:
    """Return a sound `xcm asset-transfer`, but for *changes*."""
    given = {
        "from": "polkadot",
        "to": "assetHub",
        "assetid": "DOT",
        "amount": "15000000000",
        "destinationaddress": BOB,
    }
    return ("--offline", "xcm", "asset-transfer", *options(given, changes))


def scenario(**changes: str | None) -> Line:
    given = {
        "source_chain": "polkadot",
        "dest_chain": "assetHub",
        "assetid": "DOT",
        "amount": "1.5",
        "destination_address": BOB,
    }
    return ("create", "scenario", *options(given, changes))


def swap(**changes: str | None) -> Line:
    given = {"assetin": "DOT", "assetout": "HDX", "amount": "2", "min_amount_out": "900000000000000"}
    return ("--offline", "create", "swap", *options(given, changes))


def payload(tx: str = "0x00071468656c6c6f", **changes: str | None) -> Line:
    given = {"chain": "polkadot", "sender": BOB, "nonce": "0"}
    return ("--offline", "tx", "payload", tx, *options(given, changes))


def decode(tx: str, chain: str = "polkadot") -> Line:
    return ("--offline", "tx", "decode", tx, "--chain", chain)


def imports(name: str, error: str, content: str | bytes, code: str = "invalid_request") -> Any:
    """Return a row: *content* is a file that cannot be imported."""
    return case(name, ("scenario", "import", "it.txt"), error, code, files={"it.txt": content})


def flow(name: str, error: str, content: str | bytes, code: str = "invalid_request") -> Any:
    """Return a row: *content* is a flow file that cannot be used."""
    return case(name, ("create", "--file", "flow.toml"), error, code, files={"flow.toml": content})


def abi(name: str, error: str, content: Any, address: str = BOB) -> Any:
    """Return a row: *content* is metadata of a contract that cannot be read."""
    text = content if isinstance(content, str) else json.dumps(content)
    code = "bad_json" if isinstance(content, str) else "invalid_request"
    return case(
        name, ("contract", "info", "--abi", "abi.json", address), error, code, files={"abi.json": text}
    )


def diagram(*nodes: Mapping[str, Any], edges: Any = ()) -> str:
    """Return the JSON of a diagram; an edge is a pair of ids."""
    return json.dumps(
        {
            "nodes": list(nodes),
            "edges": [
                {"id": f"{source}-{target}", "source": source, "target": target} for source, target in edges
            ],
        }
    )


def share(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    return base64.b64encode(zlib.compress(data)).decode()


def remark_node(identifier: str = "a", text: str = "hello") -> dict[str, Any]:
    data = {"actionType": "Remark", "source": {"chain": "polkadot", "target": text}, "target": {}}
    return {"id": identifier, "type": "action", "formData": {"action": "Remark", "actionData": data}}


def transfer_node(**changes: Any) -> dict[str, Any]:
    """Return a sound transfer of the editor, but for *changes*: `source_amount=…`, `target_chain=…`."""
    sides: dict[str, dict[str, Any]] = {
        "source": {"chain": "polkadot", "assetId": 0, "amount": "1", "symbol": "DOT", "address": None},
        "target": {"chain": "assetHub", "assetId": None, "address": BOB, "symbol": None},
    }
    for name, value in changes.items():
        side, _, key = name.partition("_")
        sides[side][key] = value
    data = {"actionType": "xTransfer", **sides}
    return {"id": "a", "type": "action", "formData": {"action": "xTransfer", "actionData": data}}


def full(name: str, error: str, content: str, code: str = "invalid_request") -> Any:
    """Return a row: the diagram *content* is stored as it is, and refused when it is drafted."""
    return case(
        name,
        ("--offline", "scenario", "full", "{id}"),
        error,
        code,
        files={"it.json": content},
        imported="it.json",
    )


def config(name: str, error: str, content: str | bytes, line: Line = ("chain", "list")) -> Any:
    """Return a row: *content* is a settings file that cannot be used."""
    return case(name, ("--config", "c.toml", *line), error, files={"c.toml": content})


HELLO = share(diagram(remark_node()))
#: One byte more than a diagram may have.
TOO_LONG = 16 * 1024 * 1024 + 1
#: `System.remark_with_event("hello")` of Polkadot with a signature of zeros, immortal, nonce 0, no tip.
SIGNED = f"0xbd0184{'00' * 33}01{'00' * 64}0000000000071468656c6c6f"
V5_ABI = {
    "version": 5,
    "types": [{"id": 0, "type": {"def": {"primitive": "u32"}}}],
    "spec": {"messages": [{"label": "get", "selector": "0x01020304", "mutates": False, "args": []}]},
}


def message(**changes: Any) -> dict[str, Any]:
    """Return metadata of version 5 with one message, changed."""
    return {**V5_ABI, "spec": {"messages": [{**V5_ABI["spec"]["messages"][0], **changes}]}}  # type: ignore[index]


CHAINS = [
    case(
        "an unknown source chain",
        transfer(**{"from": "polkadoot"}),
        "sourchain 'polkadoot' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "an unknown destination chain",
        transfer(to="moonbeam"),
        "destchain 'moonbeam' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "an empty chain",
        transfer(to=""),
        "destchain '' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "a chain with spaces",
        scenario(source_chain=" polkadot"),
        "source_chain ' polkadot' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "a chain with an escape sequence",
        scenario(dest_chain="\x1b[31mred"),
        "dest_chain '\\x1b[31mred' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "a chain that no byte of UTF-8 spells",
        scenario(source_chain="\udcff"),
        "source_chain '\\udcff' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "an unknown chain in a path",
        ("template", "stats", "doge"),
        "chain 'doge' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
        "not_found",
    ),
    case(
        "an unknown chain to filter by",
        ("scenario", "list", "--chain", "doge"),
        "chain 'doge' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "an unknown chain for a remark",
        ("create", "remark", "--chain", "x" * 200, "--text", "hi"),
        "chain 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "an unknown chain for a query",
        ("create", "query", "--chain", "btc", "System", "Number"),
        "chain 'btc' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "a transaction of an unknown chain",
        decode("0x00071468656c6c6f", "btc"),
        "chain 'btc' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
    ),
    case(
        "a chain without a runtime table",
        transfer(**{"from": "paseo", "to": "paseo", "assetid": "PAS"}),
        "paseo has no runtime table in the cache or the bundle, and --offline forbids asking a node: leave it out",
        "chain_unreachable",
    ),
    case(
        "a swap on a chain without an exchange",
        swap(chain="assetHub"),
        "chain 'assetHub' has no exchange, expected one of: hydraDx",
    ),
    case(
        "a role of no chain",
        ("chain", "list", "--role", "bank"),
        "role 'bank' fits no chain, expected one of: asset_hub, contracts, dex, relay",
    ),
    case(
        "an order that chains have not",
        ("chain", "list", "--sort", "size"),
        "sort 'size' is not known, expected one of: name, role, symbol, para_id",
    ),
]

ROUTES = [
    case(
        "HDX to Asset Hub",
        transfer(**{"from": "hydraDx", "to": "assetHub", "assetid": "0"}),
        "HDX cannot be sent from hydraDx to assetHub: assetHub does not accept hydraDx as its reserve, so the transfer would leave hydraDx and be lost on arrival (UntrustedReserveLocation), and hydraDx allows no teleport of it",
    ),
    case(
        "HDX to the relay chain",
        transfer(**{"from": "hydraDx", "to": "polkadot", "assetid": "HDX"}),
        "HDX cannot be sent from hydraDx to polkadot: polkadot holds only DOT",
    ),
    case(
        "USDT from the relay chain",
        transfer(assetid="USDT"),
        "assetid 'USDT' is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
    ),
    case(
        "USDT of Hydration to the relay chain",
        transfer(**{"from": "hydraDx", "to": "polkadot", "assetid": "10"}),
        "USDT cannot be sent from hydraDx to polkadot: polkadot holds only DOT",
    ),
    case(
        "USDT of Asset Hub to the relay chain",
        transfer(**{"from": "assetHub", "to": "polkadot", "assetid": "1984"}),
        "USDt cannot be sent from assetHub to polkadot: polkadot holds only DOT",
    ),
    case(
        "Kusama to Hydration",
        transfer(**{"from": "kusama", "to": "hydraDx", "assetid": "KSM"}),
        "KSM cannot be sent from kusama to hydraDx: they are not under one relay chain (kusama is under kusama, hydraDx under polkadot), and no bridge is used here",
    ),
    case(
        "Polkadot to Kusama",
        transfer(to="kusama"),
        "DOT cannot be sent from polkadot to kusama: they are not under one relay chain (polkadot is under polkadot, kusama under kusama), and no bridge is used here",
    ),
    case(
        "one Asset Hub to the other",
        transfer(**{"from": "assetHub", "to": "assetHub_kusama"}),
        "DOT cannot be sent from assetHub to assetHub_kusama: they are not under one relay chain (assetHub is under polkadot, assetHub_kusama under kusama), and no bridge is used here",
    ),
    case(
        "to a chain that has no route",
        transfer(to="pop"),
        "DOT cannot be sent from polkadot to pop: routes are known only between a relay chain, its Asset Hub and its exchange chain",
    ),
    case(
        "too little for the last hop",
        transfer(to="hydraDx", amount="9999999999"),
        "amount 0.9999999999 DOT is too little for polkadot to hydraDx without asking a chain for the last hop's fee, expected at least 1 DOT",
    ),
    case(
        "a scenario with an unsafe route",
        scenario(source_chain="hydraDx", assetid="HDX"),
        "HDX cannot be sent from hydraDx to assetHub: assetHub does not accept hydraDx as its reserve, so the transfer would leave hydraDx and be lost on arrival (UntrustedReserveLocation), and hydraDx allows no teleport of it",
    ),
    case(
        "a scenario between two networks",
        scenario(dest_chain="kusama"),
        "DOT cannot be sent from polkadot to kusama: they are not under one relay chain (polkadot is under polkadot, kusama under kusama), and no bridge is used here",
    ),
    case(
        "LRNA within the wrong family",
        transfer(**{"from": "hydraDx", "to": "assetHub", "assetid": "LRNA"}),
        "LRNA cannot be sent from hydraDx to assetHub: hydraDx backs it, and nothing that hydraDx backs is known to arrive on assetHub (its HDX is lost there: UntrustedReserveLocation)",
    ),
]

ASSETS = [
    case(
        "an unknown symbol",
        transfer(assetid="DOGE"),
        "assetid 'DOGE' is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
    ),
    case(
        "an unknown id on the relay chain",
        transfer(assetid="5"),
        "assetid '5' is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
    ),
    case(
        "an unknown id on Hydration",
        transfer(**{"from": "hydraDx", "assetid": "4294967295"}),
        "assetid '4294967295' is not an asset of hydraDx that is known here, expected an id or a symbol like 0, 5 (DOT) or 10 (USDT)",
    ),
    case(
        "an id above u32",
        transfer(**{"from": "assetHub", "to": "polkadot", "assetid": "4294967296"}),
        "assetid '4294967296' is not an asset of assetHub that is known here, expected an id or a symbol like DOT, 1337 (USDC) or 1984 (USDt)",
    ),
    case(
        "an id of a thousand digits",
        transfer(assetid="9" * 1000),
        "assetid '9999999999999999999999999999999999999999999999999999999999… is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
    ),
    case(
        "a negative id",
        transfer(assetid="-1"),
        "assetid '-1' is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
    ),
    case(
        "an id with a point",
        transfer(assetid="1.5"),
        "assetid '1.5' is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
    ),
    case(
        "an id of other digits",
        transfer(assetid="１９８４"),
        "assetid '１９８４' is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
    ),
    case(
        "an empty asset",
        transfer(assetid=""),
        "assetid '' is empty, expected an id or a symbol of polkadot, like DOT",
    ),
    case(
        "a symbol that fits several assets",
        transfer(**{"from": "hydraDx", "assetid": "USDT"}),
        "assetid 'USDT' fits more than one asset of hydraDx: 10 (USDT, Tether USD of Asset Hub), 23 (USDT, USDT of Wormhole, not the canonical USDT 10), 1000767 (USDT, USDT of Ethereum, not the canonical USDT 10), expected an id",
    ),
    case(
        "a receiver of zeros",
        transfer(destinationaddress="0x" + "00" * 32),
        f"destinationaddress '0x{'00' * 32}' is the account of 32 bytes 00, whose key nobody holds: what is sent there is "
        "lost; confirm it with --yes (yes) if you mean it",
    ),
    case(
        "a version of XCM",
        transfer(**{"xcm-version": "2"}),
        "xcm_version '2' is not a version of XCM, expected 3, 4 or 5",
    ),
    case(
        "an asset with an escape sequence",
        transfer(assetid="\x1b]0;title\x07"),
        "assetid '\\x1b]0;title\\x07' is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
    ),
    case(
        "a swap of an unknown asset",
        swap(assetin="DOGE"),
        "assetin 'DOGE' is not an asset of hydraDx that is known here, expected an id or a symbol like 0, 5 (DOT) or 10 (USDT)",
    ),
    case(
        "a swap into an unknown asset",
        swap(assetout="DOGE"),
        "assetout 'DOGE' is not an asset of hydraDx that is known here, expected an id or a symbol like 0, 5 (DOT) or 10 (USDT)",
    ),
    case(
        "a swap into the asset sold",
        swap(assetout="5"),
        "assetout '5' is the asset sold, expected another one to receive",
    ),
    case(
        "whole tokens of an asset of unknown decimals",
        scenario(source_chain="assetHub", dest_chain="assetHub", assetid="987654321"),
        "amount '1.5' is in whole tokens, but the decimals of asset 987654321 on assetHub are not known here: send a raw amount with `xcm asset-transfer`",
    ),
]

AMOUNTS = [
    case(
        "raw 1e400",
        transfer(amount="1e400"),
        "amount '1e400' is more than any chain can hold (2^128 - 1 smallest units)",
    ),
    case(
        "raw NaN",
        transfer(amount="NaN"),
        "amount 'NaN' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw inf",
        transfer(amount="inf"),
        "amount 'inf' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case("raw -1", transfer(amount="-1"), "amount '-1' is negative, expected a number above zero"),
    case(
        "raw true",
        transfer(amount="true"),
        "amount 'true' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw nothing",
        transfer(amount=""),
        "amount '' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw with a space before",
        transfer(amount=" 1"),
        "amount ' 1' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw with a line break",
        transfer(amount="1\n"),
        "amount '1\\n' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw with underscores",
        transfer(amount="1_000"),
        "amount '1_000' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw with a comma",
        transfer(amount="1,5"),
        "amount '1,5' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw in full-width digits",
        transfer(amount="１"),
        "amount '１' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw in Arabic digits",
        transfer(amount="٣"),
        "amount '٣' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case("raw 0", transfer(amount="0"), "amount '0' is zero, expected a number above zero"),
    case("raw 0.0", transfer(amount="0.0"), "amount '0.0' is zero, expected a number above zero"),
    case(
        "raw 2^128",
        transfer(amount=str(2**128)),
        "amount '340282366920938463463374607431768211456' is more than any chain can hold (2^128 - 1 smallest units)",
    ),
    case(
        "raw 0x10",
        transfer(amount="0x10"),
        "amount '0x10' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw with a fraction",
        transfer(amount="1.5"),
        "amount '1.5' has a fraction, but is counted in the smallest unit: expected a whole number",
    ),
    case(
        "raw +1",
        transfer(amount="+1"),
        "amount '+1' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw of 5000 digits",
        transfer(amount="9" * 5000),
        "amount '9999999999999999999999999999999999999999999999999999999999… is too long, expected at most 200 characters",
    ),
    case(
        "raw 1e99999",
        transfer(amount="1e99999"),
        "amount '1e99999' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "raw as a list",
        transfer(amount="[1]"),
        "amount '[1]' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "whole tokens with too many decimals",
        scenario(amount="1.00000000001"),
        "amount 1.00000000001 has too many decimals, DOT has 10",
    ),
    case("whole tokens 1e-400", scenario(amount="1e-400"), "amount 1E-400 has too many decimals, DOT has 10"),
    case(
        "whole tokens beyond u128",
        scenario(amount="34028236692093846346337460744"),
        "amount '34028236692093846346337460744' is more than any chain can hold (2^128 - 1 smallest units)",
    ),
    case(
        "whole tokens 1e400",
        scenario(amount="1e400"),
        "amount '1e400' is more than any chain can hold (2^128 - 1 smallest units)",
    ),
    case(
        "whole tokens NaN",
        scenario(amount="NaN"),
        "amount 'NaN' is not a number, expected digits with an optional point, like 1.5",
    ),
    case(
        "whole tokens Infinity",
        scenario(amount="Infinity"),
        "amount 'Infinity' is not a number, expected digits with an optional point, like 1.5",
    ),
    case("whole tokens -1", scenario(amount="-1"), "amount '-1' is negative, expected a number above zero"),
    case("whole tokens 0", scenario(amount="0"), "amount '0' is zero, expected a number above zero"),
    case(
        "whole tokens with a comma",
        scenario(amount="1,5"),
        "amount '1,5' is not a number, expected digits with an optional point, like 1.5",
    ),
    case(
        "whole tokens with a symbol",
        scenario(amount="1.5 DOT"),
        "amount '1.5 DOT' is not a number, expected digits with an optional point, like 1.5",
    ),
    case("a swap of nothing", swap(amount="0"), "amount '0' is zero, expected a number above zero"),
    case(
        "a swap with too many decimals",
        swap(amount="0.00000000001"),
        "amount 0.00000000001 has too many decimals, DOT has 10",
    ),
    case(
        "a minimum with a fraction",
        swap(min_amount_out="1.5"),
        "min_amount_out '1.5' has a fraction, but is counted in the smallest unit: expected a whole number",
    ),
    case(
        "a minimum of zero",
        swap(min_amount_out="0"),
        "min_amount_out '0' is zero, expected a number above zero",
    ),
    case(
        "a minimum that is no number",
        swap(min_amount_out="cheap"),
        "min_amount_out 'cheap' is not a number, expected a whole number of smallest units, like 15000000000",
    ),
    case(
        "a swap without a minimum",
        swap(min_amount_out=None),
        "a swap without a minimum received needs a quote from hydraDx, and --offline forbids asking: give the minimum in the smallest unit with --min-amount-out (min_amount_out)",
        "chain_unreachable",
    ),
    case(
        "a slippage of 100 per cent",
        swap(min_amount_out=None, slippage="100"),
        "slippage '100' is not a share in per cent, expected 0 to 99.9, like 0.5",
    ),
    case(
        "a negative slippage",
        swap(min_amount_out=None, slippage="-1"),
        "slippage '-1' is negative, expected zero or more",
    ),
    case(
        "a slippage that is no number",
        swap(slippage="1%"),
        "slippage '1%' is not a number, expected digits with an optional point, like 1.5",
    ),
]

SWAP_ROUTES = [
    case(
        "a route of one word",
        swap(route="omnipool"),
        'route \'omnipool\' is not a route, expected hops like [{"pool": "Omnipool", "asset_in": 5, "asset_out": 102}, {"pool": {"Stableswap": 102}, "asset_in": 102, "asset_out": 10}] or 5>omnipool>102>stableswap:102>10',
    ),
    case(
        "a route through an unknown pool",
        swap(route="5>uniswap>0"),
        "route[0].pool 'uniswap' is not a pool, expected one of: Omnipool, XYK, LBP, Aave, HSM, Stableswap(102)",
    ),
    case(
        "a route through a pool without its id",
        swap(route="5>stableswap>0"),
        "route[0].pool 'stableswap' lacks the pool's id, expected one like Stableswap(102)",
    ),
    case(
        "a route from another asset",
        swap(route="10>omnipool>0"),
        "route begins with 10, but 5 is sold: expected it first",
    ),
    case(
        "a route to another asset",
        swap(route="5>omnipool>10"),
        "route ends with 10, but 0 is to be received: expected it last",
    ),
    case(
        "hops that do not chain",
        swap(
            route='[{"pool": "Omnipool", "asset_in": 5, "asset_out": 1}, {"pool": "XYK", "asset_in": 2, "asset_out": 0}]'
        ),
        "route[1] sells 2, but the hop before it brings 1: expected hops that chain",
    ),
    case(
        "a route of more hops than the router takes",
        swap(route=">".join(["5", *["omnipool", "6", "omnipool", "5"] * 10])),
        "route has more than 9 hops, the router takes no longer route",
    ),
    case(
        "a route that is broken JSON",
        swap(route="[{"),
        "route is not JSON: expecting property name enclosed in double quotes (line 1, column 3)",
        "bad_json",
    ),
    case(
        "a route that is empty JSON",
        swap(route="[]"),
        'route is empty, expected hops like [{"pool": "Omnipool", "asset_in": 5, "asset_out": 102}, {"pool": {"Stableswap": 102}, "asset_in": 102, "asset_out": 10}] or 5>omnipool>102>stableswap:102>10',
    ),
]

ADDRESSES = [
    case(
        "an address with a wrong checksum",
        transfer(destinationaddress=BOB[:-1] + "4"),
        "destinationaddress '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf4' has a wrong checksum, it was mistyped or cut: copy the address again",
    ),
    case(
        "an EVM address",
        transfer(destinationaddress="0x" + "ab" * 20),
        "destinationaddress '0xabababababababababababababababababababab' is an EVM address of 20 bytes, but an AccountId32 is needed: expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "a public key that is too short",
        transfer(destinationaddress="0x" + "ab" * 31),
        "destinationaddress '0xababababababababababababababababababababababababababababababab' has 31 bytes, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "a public key of 33 bytes",
        transfer(destinationaddress="0x02" + "ab" * 32),
        "destinationaddress '0x02abababababababababababababababababababababababababababababababab' is an ecdsa public key of 33 bytes, not an account: expected its SS58 address, or the blake2b-256 hash of the key",
    ),
    case(
        "an address that is cut",
        transfer(destinationaddress=BOB[:20]),
        "destinationaddress '14E5nqKAp3oAJcmzgZhU' is not an address, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "an address with a prefix that no network has",
        transfer(destinationaddress="zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
        "destinationaddress 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz' has a wrong checksum, it was mistyped or cut: copy the address again",
    ),
    case(
        "an empty address",
        transfer(destinationaddress=""),
        "destinationaddress '' is not an address, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "letters that base58 has not",
        transfer(destinationaddress=BOB[:-1] + "O"),
        "destinationaddress '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVfO' is not an address, it holds characters that base58 has not (0, O, I, l): expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "an address with a space",
        transfer(destinationaddress=BOB + " "),
        "destinationaddress '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3 ' is not an address, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "an address that is not hex",
        transfer(destinationaddress="0xBOB"),
        "destinationaddress '0xBOB' is not hex, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "an address with an odd number of digits",
        transfer(destinationaddress=BOB_HEX[:-1]),
        "destinationaddress '0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a4' is not hex, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "an address as long as a book",
        transfer(destinationaddress="1" * 100_000),
        "destinationaddress '111111111111111111111111111111111111111111111111111111111111111111111111111111… is not an address, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "a name in place of an address",
        scenario(destination_address="bob"),
        "destination_address 'bob' is not an address, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "an address that no byte of UTF-8 spells",
        scenario(destination_address="\udc80"),
        "destination_address '\\udc80' is not an address, expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
    case(
        "a sender with a wrong checksum",
        payload(sender=BOB[:-1] + "4"),
        "sender '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf4' has a wrong checksum, it was mistyped or cut: copy the address again",
    ),
    case(
        "an EVM sender",
        payload(sender="0x" + "00" * 20),
        "sender '0x0000000000000000000000000000000000000000' is an EVM address of 20 bytes, but an AccountId32 is needed: expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    ),
]

TRANSACTIONS = [
    case(
        "hex of an odd number of digits",
        decode("0x000"),
        "tx '0x000' is not hex, expected 0x and an even number of hex digits",
    ),
    case(
        "hex without 0x",
        decode("00071468656c6c6f"),
        "tx '00071468656c6c6f' is not hex, expected 0x and an even number of hex digits",
    ),
    case(
        "no hex at all",
        decode("hello"),
        "tx 'hello' is not hex, expected 0x and an even number of hex digits",
    ),
    case("0x alone", decode("0x"), "tx '0x' is not hex, expected 0x and an even number of hex digits"),
    case("empty text", decode(""), "tx '' is not hex, expected 0x and an even number of hex digits"),
    case(
        "hex with spaces",
        decode("0x00 07"),
        "tx '0x00 07' is not hex, expected 0x and an even number of hex digits",
    ),
    case(
        "hex in full-width digits",
        decode("0x００"),
        "tx '0x００' is not hex, expected 0x and an even number of hex digits",
    ),
    case(
        "a call that is cut",
        decode("0x00071468656c"),
        "tx does not read as a call of polkadot: System.remark_with_event: remark: the bytes end early, byte 2 promises 5 more",
    ),
    case(
        "a call with bytes after its end",
        decode("0x00071468656c6c6fff"),
        "tx does not read as a call of polkadot: System.remark_with_event: 1 bytes too many after its arguments",
    ),
    case(
        "a call of another chain",
        decode("0x1e0b0000", "assetHub"),
        "tx does not read as a call of assetHub: 0x1e0b is no call of statemint 2003001: XcmpQueue has no method 11",
    ),
    case(
        "a pallet that is not there",
        decode("0xfe00"),
        "tx does not read as a call of polkadot: 0xfe00 is no call of polkadot 2000000: no pallet has the index 254",
    ),
    case(
        "a method that is not there",
        decode("0x00ff"),
        "tx does not read as a call of polkadot: 0x00ff is no call of polkadot 2000000: System has no method 255",
    ),
    case(
        "one byte",
        decode("0x00"),
        "tx does not read as a call of polkadot: 0x00 is too short for a call, which begins with a pallet and a method",
    ),
    case(
        "an extrinsic that is cut",
        decode("0x2004000714"),
        "tx does not read on polkadot, neither as an extrinsic (tx says that it is 8 bytes long, but 4 follow: it was cut or is not an extrinsic) nor as a call (0x2004 is no call of polkadot 2000000: no pallet has the index 32)",
    ),
    case(
        "an extrinsic with a byte too much",
        decode("0x2404000714" + b"hello".hex() + "00"),
        "tx does not read on polkadot, neither as an extrinsic (tx says that it is 9 bytes long, but 10 follow: it was cut or is not an extrinsic) nor as a call (ElectionProviderMultiPhase.governance_fallback: 9 bytes too many after its arguments)",
    ),
    case(
        "an extrinsic of an unknown version",
        decode("0x2006000714"),
        "tx does not read as a call of polkadot: 0x2006 is no call of polkadot 2000000: no pallet has the index 32",
    ),
    case(
        "a length that no chain could hold",
        decode("0x0007feffffff"),
        "tx does not read as a call of polkadot: System.remark_with_event: remark: the bytes end early, byte 2 promises 1073741823 more",
    ),
    case(
        "random bytes",
        decode("0x" + "ff" * 40),
        "tx does not read as a call of polkadot: 0xffff is no call of polkadot 2000000: RcMigrator has no method 255",
    ),
    case(
        "stdin that is empty", decode("-"), "tx '' is not hex, expected 0x and an even number of hex digits"
    ),
    case(
        "stdin that is not text",
        decode("-"),
        "tx '-' is not UTF-8 text: byte 0 is wrong",
        files={"in": b"\xff\xfe"},
        stdin="in",
    ),
]

SIGNING = [
    case(
        "no sender",
        payload(sender=None),
        "sender is missing, a signing payload is made for the account that signs it",
    ),
    case(
        "no nonce",
        payload(nonce=None),
        "polkadot was not asked for the sender's nonce, give it with --nonce",
        "chain_unreachable",
    ),
    case(
        "a negative nonce",
        payload(nonce="-1"),
        "nonce '-1' is wrong, expected a whole number from 0 to 4294967295",
    ),
    case(
        "a nonce above u32",
        payload(nonce="4294967296"),
        "nonce '4294967296' is wrong, expected a whole number from 0 to 4294967295",
    ),
    case(
        "a nonce that is no number",
        payload(nonce="next"),
        "nonce 'next' is wrong, expected a whole number from 0 to 4294967295",
    ),
    case(
        "a nonce with a fraction",
        payload(nonce="0.5"),
        "nonce '0.5' is wrong, expected a whole number from 0 to 4294967295",
    ),
    case(
        "an era that is no power of two",
        payload(era="65", block="100", block_hash="0x" + "11" * 32),
        "era '65' is not a period, expected a power of two from 4 to 65536, like 64",
    ),
    case(
        "an era that is too short",
        payload(era="2", block="100", block_hash="0x" + "11" * 32),
        "era '2' is not a period, expected a power of two from 4 to 65536, like 64",
    ),
    case(
        "an era that is too long",
        payload(era="131072", block="100", block_hash="0x" + "11" * 32),
        "era '131072' is not a period, expected a power of two from 4 to 65536, like 64",
    ),
    case(
        "an era of a thousand digits",
        payload(era="6" * 1000, block="100", block_hash="0x" + "11" * 32),
        "era '6666666666666666666666666666666666666666666666666666666666… is not a period, expected a power of two from 4 to 65536, like 64",
    ),
    case(
        "an era of words",
        payload(era="forever"),
        "era 'forever' is not an era, expected immortal, a period in blocks like 64, or 0x hex",
    ),
    case(
        "an era of other digits",
        payload(era="６４"),
        "era '６４' is not an era, expected immortal, a period in blocks like 64, or 0x hex",
    ),
    case(
        "an era of broken hex",
        payload(era="0x450"),
        "era '0x450' is not an era, expected immortal, 0x00, or two bytes of hex like 0x4502",
    ),
    case(
        "an era of too many bytes",
        payload(era="0x450200"),
        "era '0x450200' is not an era, expected immortal, 0x00, or two bytes of hex like 0x4502",
    ),
    case(
        "an era whose phase is beyond its period",
        payload(era="0x5100"),
        "era '0x5100' is not an era, expected immortal, 0x00, or two bytes of hex like 0x4502",
    ),
    case(
        "a mortal era without its block",
        payload(era="64", block_hash="0x" + "11" * 32),
        "block is missing, a mortal era needs the number of the block it starts from",
    ),
    case(
        "a mortal era without its block's hash",
        payload(era="64", block="100"),
        "block_hash is missing, a mortal era needs the hash of the block it starts from",
    ),
    case(
        "a mortal era with a negative block",
        payload(era="64", block="-1", block_hash="0x" + "11" * 32),
        "block '-1' is wrong, expected a whole number from 0 to 4294967295",
    ),
    case(
        "a mortal era with a block beyond all",
        payload(era="64", block=str(2**65), block_hash="0x" + "11" * 32),
        "block '36893488147419103232' is wrong, expected a whole number from 0 to 4294967295",
    ),
    case(
        "a block hash that is too short",
        payload(era="64", block="100", block_hash="0x11"),
        "block_hash '0x11' is not a hash, expected 0x and 64 hex digits",
    ),
    case(
        "a block hash with an immortal era",
        payload(block_hash="0x" + "11" * 32),
        "block_hash '0x11111111111111111111111111111111111111111111111111111111… does not go with an immortal era, which starts at the genesis block: leave it out, or give an era",
    ),
    case(
        "a block number with an immortal era",
        payload(block="100"),
        "block '100' does not go with an immortal era, which starts at the genesis block: leave it out, or give an era",
    ),
    case("a negative tip", payload(tip="-1"), "tip '-1' is negative, expected zero or more"),
    case(
        "a tip with a fraction",
        payload(tip="0.1"),
        "tip '0.1' has a fraction, but is counted in the smallest unit: expected a whole number",
    ),
    case(
        "a tip beyond u128",
        payload(tip=str(2**128)),
        "tip '340282366920938463463374607431768211456' is more than any chain can hold (2^128 - 1 smallest units)",
    ),
    case(
        "a metadata hash that is too short",
        payload(metadata_hash="0x1234"),
        "metadata_hash '0x1234' is not a hash, expected 0x and 64 hex digits",
    ),
    case(
        "a metadata hash that is no hex",
        payload(metadata_hash="yes"),
        "metadata_hash 'yes' is not a hash, expected auto, off, or 0x and 64 hex digits",
    ),
    case(
        "a genesis that is no hash",
        payload(genesis="polkadot"),
        "genesis 'polkadot' is not a hash, expected 0x and 64 hex digits",
    ),
    case(
        "a payload of a signed transaction",
        payload(SIGNED),
        "tx is signed already, expected an unsigned extrinsic or call data",
    ),
    case(
        "a payload of no transaction",
        payload("0xfe00"),
        "tx does not read as a call of polkadot: 0xfe00 is no call of polkadot 2000000: no pallet has the index 254",
    ),
    case(
        "an output format that there is not",
        transfer(output_format="json"),
        "output_format 'json' is not known, expected one of: extrinsic, call, payload",
    ),
    case(
        "an output format in capitals",
        transfer(output_format="CALL"),
        "output_format 'CALL' is not known, expected one of: extrinsic, call, payload",
    ),
    case(
        "a payload without its sender",
        transfer(output_format="payload"),
        "sender is missing, a signing payload is made for the account that signs it",
    ),
    case(
        "a swap in an unknown form",
        swap(output_format="hex"),
        "output_format 'hex' is not known, expected one of: extrinsic, call, payload",
    ),
]

IDS = [
    case(
        "an unknown scenario", ("info", "abcdefghi"), "scenario 'abcdefghi' is not in the store", "not_found"
    ),
    case(
        "an unknown scenario to show",
        ("scenario", "show", "abcdefghi"),
        "scenario 'abcdefghi' is not in the store",
        "not_found",
    ),
    case(
        "an unknown scenario to draft",
        ("--offline", "scenario", "full", "abcdefghi"),
        "scenario 'abcdefghi' is not in the store",
        "not_found",
    ),
    case(
        "an unknown scenario to export",
        ("scenario", "export", "abcdefghi"),
        "scenario 'abcdefghi' is not in the store",
        "not_found",
    ),
    case(
        "an unknown scenario to delete",
        ("scenario", "delete", "abcdefghi"),
        "scenario 'abcdefghi' is not in the store",
        "not_found",
    ),
    case(
        "an empty id", ("info", ""), "id '' cannot name a scenario, expected 1 to 64 letters, digits, - or _"
    ),
    case(
        "an id with a slash",
        ("info", "../../etc/passwd"),
        "id '../../etc/passwd' cannot name a scenario, expected 1 to 64 letters, digits, - or _",
    ),
    case(
        "an id as long as a book",
        ("scenario", "delete", "a" * 10_000),
        "id 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… cannot name a scenario, expected 1 to 64 letters, digits, - or _",
    ),
    case(
        "an id with SQL",
        ("scenario", "delete", "a'; DROP TABLE scenarios; --"),
        'id "a\'; DROP TABLE scenarios; --" cannot name a scenario, expected 1 to 64 letters, digits, - or _',
    ),
    case(
        "an id of an escape sequence",
        ("info", "\x1b[2Jabc"),
        "id '\\x1b[2Jabc' cannot name a scenario, expected 1 to 64 letters, digits, - or _",
    ),
    case(
        "an id that no byte of UTF-8 spells",
        ("info", "\udcffabc"),
        "id '\\udcffabc' cannot name a scenario, expected 1 to 64 letters, digits, - or _",
    ),
    case(
        "an id with a NUL",
        ("info", "abc\0def"),
        "id 'abc\\x00def' cannot name a scenario, expected 1 to 64 letters, digits, - or _",
    ),
    case(
        "a page of no size",
        ("scenario", "list", "--limit", "0"),
        "limit 0 is out of range, expected 1 to 1000",
    ),
    case(
        "a page too large",
        ("scenario", "list", "--limit", "1001"),
        "limit 1001 is out of range, expected 1 to 1000",
    ),
    case(
        "a page of words",
        ("scenario", "list", "--limit", "all"),
        "limit 'all' is not a page size, expected a number from 1 to 1000",
    ),
    case(
        "a page of a thousand digits",
        ("scenario", "list", "--limit", "1" * 1000),
        "limit '1111111111111111111111111111111111111111111111111111111111… is not a page size, expected a number from 1 to 1000",
    ),
    case(
        "a page of a negative size",
        ("scenario", "list", "--limit", "-5"),
        "limit '-5' is not a page size, expected a number from 1 to 1000",
    ),
    case(
        "a cursor that is none",
        ("scenario", "list", "--after", "zzz"),
        "after 'zzz' is not a cursor, expected the `next` of another page",
    ),
    case(
        "an order that scenarios have not",
        ("scenario", "list", "--sort", "price"),
        "sort 'price' is unknown, expected one of: created, id, summary",
    ),
    case(
        "a search as long as a book",
        ("scenario", "list", "--search", "a" * 500),
        "search 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… is too long, expected at most 200 characters",
    ),
    case(
        "a search that no byte of UTF-8 spells",
        ("scenario", "list", "--search", "\udc80"),
        "search '\\udc80' is not valid text",
    ),
    case(
        "an export in an unknown form",
        ("scenario", "export", "abcdefghi", "--as", "pdf"),
        "as 'pdf' is not a form, expected share or json",
    ),
]

REMARKS = [
    case(
        "a remark without text",
        ("create", "remark", "--chain", "polkadot", "--text", ""),
        "text is empty, expected the text of the remark",
    ),
    case(
        "a remark that no byte of UTF-8 spells",
        ("create", "remark", "--chain", "polkadot", "--text", "\udc80"),
        "remark '\\udc80' holds half a character (a lone surrogate), expected text",
    ),
    case(
        "a remark beyond a block",
        ("create", "remark", "--chain", "polkadot", "--text", "a" * (3 * 1024 * 1024 + 1)),
        "remark is 3145729 bytes long, expected at most 3145728",
    ),
    case(
        "a query without a method",
        ("create", "query", "--chain", "polkadot", "System"),
        "METHOD is missing, expected: scenarioctl create query [OPTIONS] PALLET METHOD [PARAM]...",
        usage="scenarioctl create query",
    ),
    case(
        "a query of an empty pallet",
        ("create", "query", "--chain", "polkadot", "", "Account"),
        "pallet_name is empty, expected text",
    ),
    case(
        "a query at a block that is no block",
        ("create", "query", "--chain", "polkadot", "--block", "1.5", "System", "Number"),
        "block '1.5' is not a block, expected its hash (0x and 64 hex digits) or its number",
    ),
    case(
        "a query at half a hash",
        ("create", "query", "--chain", "polkadot", "--block", "0x1234", "System", "Number"),
        "block '0x1234' is not a block, expected its hash (0x and 64 hex digits) or its number",
    ),
]

IMPORTS = [
    case(
        "a file that is not there",
        ("scenario", "import", "missing.json"),
        "source 'missing.json' is not there, expected the path of a file, or - for stdin",
        "not_found",
    ),
    case("a folder", ("scenario", "import", "."), "source '.' cannot be read: Is a directory"),
    case(
        "an empty name",
        ("scenario", "import", ""),
        "source '' is empty, expected the path of a file, or - for stdin",
    ),
    case(
        "a name with a NUL",
        ("scenario", "import", "a\0b.json"),
        "source 'a\\x00b.json' cannot be read: no path holds a NUL character",
    ),
    imports("an empty file", "diagram is empty, expected the base64 share string of a diagram", ""),
    imports("white space", "diagram is empty, expected the base64 share string of a diagram", " \n\t "),
    imports("a file that is not text", "source 'it.txt' is not UTF-8 text: byte 0 is wrong", b"\xff\xfe\x00"),
    imports(
        "broken JSON", "diagram is not JSON: expecting value (line 1, column 12)", '{"nodes": [', "bad_json"
    ),
    imports(
        "JSON with more behind it",
        "diagram is not JSON: extra data (line 1, column 28)",
        '{"nodes": [], "edges": []} {}',
        "bad_json",
    ),
    imports("JSON of a list", "diagram is a list, expected an object with `nodes` and `edges`", "[]"),
    imports(
        "JSON of a text", "diagram is 'diagram', expected an object with `nodes` and `edges`", '"diagram"'
    ),
    imports(
        "JSON without edges",
        "diagram has no `edges`, expected an object with `nodes` and `edges`",
        '{"nodes": []}',
    ),
    imports(
        "JSON without nodes",
        "diagram has no `nodes`, expected an object with `nodes` and `edges`",
        '{"edges": []}',
    ),
    imports(
        "nodes that are an object",
        "diagram.nodes is an object, expected a list",
        '{"nodes": {}, "edges": []}',
    ),
    imports(
        "edges that are null", "diagram.edges is missing, expected a list", '{"nodes": [], "edges": null}'
    ),
    imports(
        "a node that is a number", "diagram.nodes[0] is 1, expected an object", '{"nodes": [1], "edges": []}'
    ),
    imports(
        "a node without an id",
        "diagram.nodes[0].id is missing, expected text",
        '{"nodes": [{"type": "chain"}], "edges": []}',
    ),
    imports(
        "a node with a number as its id",
        "diagram.nodes[0].id is 7, expected text",
        '{"nodes": [{"id": 7}], "edges": []}',
    ),
    imports(
        "a node with a list as its type",
        "diagram.nodes[0].type is a list, expected text",
        '{"nodes": [{"id": "a", "type": []}], "edges": []}',
    ),
    imports(
        "a form that is a text",
        "diagram.nodes[0].formData is 'x', expected an object",
        '{"nodes": [{"id": "a", "formData": "x"}], "edges": []}',
    ),
    imports(
        "an edge without a target",
        "diagram.edges[0].target is missing, expected the id of a node",
        '{"nodes": [{"id": "a"}], "edges": [{"source": "a"}]}',
    ),
    imports(
        "an edge that is a list",
        "diagram.edges[0] is a list, expected an object",
        '{"nodes": [], "edges": [[]]}',
    ),
    imports(
        "NaN in JSON",
        "diagram holds NaN, which is not JSON",
        '{"nodes": [], "edges": [], "x": NaN}',
        "bad_json",
    ),
    imports(
        "1e400 in JSON",
        "diagram holds '1e400', which is beyond any number here; write it as text",
        '{"nodes": [], "edges": [], "x": 1e400}',
        "bad_json",
    ),
    imports(
        "a number that no double keeps",
        "diagram holds '0.12345678901234567891', which has more digits than a JSON number keeps; write it as text",
        '{"nodes": [], "edges": [], "x": 0.12345678901234567891}',
        "bad_json",
    ),
    imports(
        "a number of a hundred digits",
        "diagram holds a number of 100 digits, the limit is 80",
        '{"nodes": [], "edges": [], "x": ' + "9" * 100 + "}",
        "bad_json",
    ),
    imports(
        "a key given twice",
        "diagram gives the key 'nodes' twice in one object",
        '{"nodes": [], "edges": [], "nodes": []}',
        "bad_json",
    ),
    imports(
        "half of a surrogate pair",
        "diagram holds half of a surrogate pair, expected whole characters",
        '{"nodes": [], "edges": [], "x": "\\ud800"}',
        "bad_json",
    ),
    imports(
        "lists a thousand deep",
        "diagram nests deeper than 100 levels",
        '{"nodes": [], "edges": [], "x": ' + "[" * 1000 + "]" * 1000 + "}",
    ),
    imports("lists a million deep", "diagram holds more than 250000 values", "[" * 1_000_000, "too_large"),
    imports("lists of a thousand levels", "diagram nests deeper than 100 levels", "[" * 1000 + "]" * 1000),
    imports(
        "more nodes than a diagram may have",
        "diagram has 10001 nodes, the limit is 10000",
        '{"edges": [], "nodes": [' + ",".join(["0"] * 10_001) + "]}",
        "too_large",
    ),
    imports(
        "a diagram above 16 MiB",
        "diagram is larger than 16777216 bytes",
        '{"nodes": [], "edges": [], "x": "' + "a" * TOO_LONG + '"}',
        "too_large",
    ),
    imports(
        "a diagram of 50 MB",
        "source 'it.txt' is larger than 33554432 bytes, the limit for it",
        b'{"nodes": [], "edges": [], "x": "' + b"a" * 50_000_000 + b'"}',
        "too_large",
    ),
    imports(
        "a share string that is not base64",
        "diagram 'this is not base64, and it is no JSON either!' is not base64, expected the share string of a diagram",
        "this is not base64, and it is no JSON either!",
    ),
    imports(
        "a share string of a wrong length",
        "diagram 'eJxdjjEOgzAMRa+CPPcEzD0B6oYYrMQlEQGj4A4oyt3rBKoivFh+evr+CR… is not base64, expected the share string of a diagram",
        HELLO.rstrip("=")[: len(HELLO) // 4 * 4 - 3],
    ),
    imports(
        "a share string that is cut",
        "diagram 'eJxdjjEOgzAMRa+CPPcEzD0B6oYYrMQlEQGj4A4oyt3rBKoivFh+evr+CR… breaks off before its end, expected the whole share string",
        HELLO[:-16],
    ),
    imports(
        "a share string with bytes after its end",
        "diagram has 4 bytes after the diagram's end, expected none",
        base64.b64encode(base64.b64decode(HELLO) + b"more").decode(),
    ),
    imports(
        "a share string of no zlib stream",
        "diagram 'eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eH… holds no zlib stream, expected the share string of a diagram",
        base64.b64encode(b"x" * 60).decode(),
    ),
    imports(
        "a share string of broken JSON",
        "diagram is not JSON: expecting value (line 1, column 12)",
        share('{"nodes": [}'),
        "bad_json",
    ),
    imports(
        "a share string of another shape",
        "diagram has no `nodes`, expected an object with `nodes` and `edges`",
        share('{"hello": "world"}'),
    ),
    imports(
        "a share string with a wrong checksum",
        "diagram 'eJxdjjEOgzAMRa+CPPcEzD0B6oYYrMQlEQGj4A4oyt3rBKoivFh+evr+CR… holds no zlib stream, expected the share string of a diagram",
        base64.b64encode(base64.b64decode(HELLO)[:-1] + b"\0").decode(),
    ),
    imports(
        "a zlib bomb",
        "diagram unpacks to more than 16777216 bytes",
        share(b" " * 64 * 1024 * 1024),
        "too_large",
    ),
    imports(
        "a link without a diagram",
        "diagram is empty, expected the base64 share string of a diagram",
        "https://example.org/#/create/?diagramData=",
    ),
    imports(
        "a link to a stored scenario",
        "diagram is a link to the stored scenario 'lnr8CfoQX', expected one that holds the diagram itself",
        "https://example.org/#/create/?diagramData=lnr8CfoQX",
    ),
    case(
        "a share string that is cut, on the line",
        ("scenario", "import", HELLO[:40]),
        "diagram 'eJxdjjEOgzAMRa+CPPcEzD0B6oYYrMQlEQGj4A4o' breaks off before its end, expected the whole share string",
    ),
    case(
        "stdin that is empty, imported",
        ("scenario", "import", "-"),
        "diagram is empty, expected the base64 share string of a diagram",
    ),
]

DRAFTS = [
    full("an empty diagram", "this scenario has no step that drafts a transaction", diagram()),
    full(
        "an unknown type of node",
        "this scenario has no step that drafts a transaction",
        diagram({"id": "a", "type": "teleporter"}),
    ),
    full(
        "an action without a form",
        "this scenario has no step that drafts a transaction",
        diagram({"id": "a", "type": "action"}),
    ),
    full(
        "an unknown action",
        "this scenario has no step that drafts a transaction",
        diagram({"id": "a", "type": "action", "formData": {"action": "mint"}}),
    ),
    full(
        "a circle",
        "the edges run in a circle: 'a' > 'b' > 'a'",
        diagram(remark_node("a"), remark_node("b"), edges=[("a", "b"), ("b", "a")]),
    ),
    full(
        "a node that follows itself",
        "the edges run in a circle: 'a' > 'a'",
        diagram(remark_node("a"), edges=[("a", "a")]),
    ),
    full(
        "a circle of a hundred nodes",
        "the edges run in a circle: 'n0' > 'n1' > 'n2' > 'n3' > 'n4' > 'n5' > … > 'n0'",
        diagram(
            *(remark_node(f"n{n}") for n in range(100)),
            edges=[(f"n{n}", f"n{(n + 1) % 100}") for n in range(100)],
        ),
    ),
    full(
        "an id of two nodes",
        "the id 'a' is used by more than one node",
        diagram(remark_node("a"), remark_node("a")),
    ),
    full(
        "an edge that comes from no node",
        "the edge from 'ghost' to 'a' leads to no node: there is no 'ghost'",
        diagram(remark_node("a"), edges=[("ghost", "a")]),
    ),
    full(
        "an edge that leads to no node",
        "the edge from 'a' to 'ghost' leads to no node: there is no 'ghost'",
        diagram(remark_node("a"), edges=[("a", "ghost")]),
    ),
    full(
        "a remark whose text is empty",
        "the Remark has no text, expected it in actionData.source.target",
        diagram(remark_node(text="")),
    ),
    full(
        "an id with an escape sequence",
        "node '\\x1b[31m': the Remark has no text, expected it in actionData.source.target",
        diagram(remark_node("\x1b[31m", text=""), remark_node("b")),
    ),
    full(
        "a transfer without an amount",
        "source.amount is missing, expected whole tokens, like 1.5",
        diagram(transfer_node(source_amount=None)),
    ),
    full(
        "a transfer of true",
        "source.amount True is not a number, expected digits with an optional point, like 1.5",
        diagram(transfer_node(source_amount=True)),
    ),
    full(
        "a transfer of an object",
        "source.amount {'a': 1} is not a number, expected digits with an optional point, like 1.5",
        diagram(transfer_node(source_amount={"a": 1})),
    ),
    full(
        "a transfer of a list of assets",
        "source.assetId [0] is not an asset, expected an id or a symbol of polkadot, like DOT",
        diagram(transfer_node(source_assetId=[0])),
    ),
    full(
        "a transfer between two assets",
        "source asset 10 and target asset 1337 are not the same asset: USDT on hydraDx, USDC on assetHub",
        diagram(
            transfer_node(source_chain="hydraDx", source_assetId=10, source_symbol=None, target_assetId=1337)
        ),
    ),
    full(
        "a transfer with a symbol that contradicts",
        "source.assetId 1984 of assetHub is USDt, not 'DOT': expected an id and a symbol that agree",
        diagram(
            transfer_node(
                source_chain="assetHub", source_assetId=1984, source_symbol="DOT", target_chain="hydraDx"
            )
        ),
    ),
    full(
        "a transfer without a receiver",
        "target.address is missing, expected the receiver's address",
        diagram(transfer_node(target_address=None)),
    ),
    full(
        "a transfer from a number",
        "source.chain 7 is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
        diagram(transfer_node(source_chain=7)),
    ),
    full(
        "a transfer to an unknown chain",
        "target.chain 'mars' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
        diagram(transfer_node(target_chain="mars")),
    ),
    full(
        "a transfer with a source that is a text",
        "actionData.source is 'polkadot', expected an object with chain and assetId",
        diagram(
            {
                "id": "a",
                "type": "action",
                "formData": {"action": "xTransfer", "actionData": {"source": "polkadot"}},
            }
        ),
    ),
    full(
        "a transfer without neighbours",
        "source.chain is missing, expected the name of a chain",
        diagram({"id": "a", "type": "action", "formData": {"action": "xTransfer"}}),
    ),
    full(
        "a transaction that waits for a webhook",
        "source.amount waits for webhook data: {{ amount }}",
        diagram(transfer_node(source_amount="{{ amount }}")),
    ),
    full(
        "a chainTx of an unknown pallet",
        "pallet 'Nope' is not in polkadot 2000000, expected one of: System, Scheduler, Preimage, Babe, Timestamp, Indices, Balances, TransactionPayment, Authorship, Staking, Offences, Historical, Session, Grandpa, AuthorityDiscovery, Treasury, ConvictionVoting, Referenda, Origins, Whitelist, Claims, Vesting, Utility, Proxy, Multisig, Bounties, ChildBounties, ElectionProviderMultiPhase, VoterList, NominationPools, FastUnstake, DelegatedStaking, StakingAhClient, ParachainsOrigin, Configuration, ParasShared, ParaInclusion, ParaInherent, ParaScheduler, Paras, Initializer, Dmp, Hrmp, ParaSessionInfo, ParasDisputes, ParasSlashing, OnDemand, CoretimeAssignmentProvid…",
        diagram(
            {
                "id": "a",
                "type": "chainTx",
                "formData": {
                    "selectedChain": "polkadot",
                    "selectedPallet": "Nope",
                    "selectedMethod": {"name": "x"},
                    "params": {},
                },
            }
        ),
    ),
    full(
        "a chainTx of an unknown method",
        "method 'x' is not in System of polkadot 2000000, expected one of: remark, set_heap_pages, set_code, set_code_without_checks, set_storage, kill_storage, kill_prefix, remark_with_event, authorize_upgrade, authorize_upgrade_without_checks, apply_authorized_upgrade",
        diagram(
            {
                "id": "a",
                "type": "chainTx",
                "formData": {
                    "selectedChain": "polkadot",
                    "selectedPallet": "System",
                    "selectedMethod": {"name": "x"},
                    "params": {},
                },
            }
        ),
    ),
    full(
        "a chainTx without an argument",
        "System.remark: parameter remark is missing, it is a Vec<u8>: expected text or 0x hex",
        diagram(
            {
                "id": "a",
                "type": "chainTx",
                "formData": {
                    "selectedChain": "polkadot",
                    "selectedPallet": "System",
                    "selectedMethod": {"name": "remark"},
                    "params": {},
                },
            }
        ),
    ),
    full(
        "a chainTx with an argument of a wrong type",
        "Balances.transfer_keep_alive: parameter value 'lots' does not fit u128, expected a whole number like 1000",
        diagram(
            {
                "id": "a",
                "type": "chainTx",
                "formData": {
                    "selectedChain": "polkadot",
                    "selectedPallet": "Balances",
                    "selectedMethod": {"name": "transfer_keep_alive"},
                    "params": {"dest": BOB, "value": "lots"},
                },
            }
        ),
    ),
    case(
        "a payload of a scenario without its sender",
        ("--offline", "scenario", "full", "{id}", "--output-format", "payload"),
        "sender is missing, a signing payload is made for the account that signs it",
        files={"it.json": diagram(remark_node())},
        imported="it.json",
    ),
    case(
        "a field that the answer has not",
        ("--offline", "scenario", "full", "{id}", "--field", "price"),
        "field 'price' is not in the answer, expected one of: result, tx, summary, asset, amount, source_chain, dest_chain, txtype, spec_version, offline",
        files={"it.json": diagram(remark_node())},
        imported="it.json",
    ),
]

FLOWS = [
    flow(
        "TOML that does not read",
        "flow is not TOML: Invalid value (at end of document)",
        "steps = [",
        "bad_json",
    ),
    flow(
        "TOML of bytes", "file 'flow.toml' is not UTF-8 text: byte 0 is wrong", b"\xff\xfe", "invalid_request"
    ),
    flow(
        "a flow without steps",
        "flow has no steps, expected at least one: a [[steps]] table with its `type`",
        'name = "x"',
    ),
    flow(
        "a flow with an empty list of steps",
        "flow has no steps, expected at least one: a [[steps]] table with its `type`",
        "steps = []",
    ),
    flow(
        "a flow with an unknown key",
        "flow has an unknown key 'titel', expected: name, steps",
        'titel = "x"\nsteps = []',
    ),
    flow(
        "a flow whose name is a number",
        "flow.name is 7, expected text",
        'name = 7\n[[steps]]\ntype = "delay"\nseconds = 1',
    ),
    flow(
        "a step without a type",
        "steps[0].type is missing, expected one of: xTransfer, swap, Remark, chainQuery, chainTx, http, webhook, delay",
        "[[steps]]\nseconds = 1",
    ),
    flow(
        "a step of an unknown type",
        "steps[0].type 'teleport' is not a kind of step, expected one of: xTransfer, swap, Remark, chainQuery, chainTx, http, webhook, delay",
        '[[steps]]\ntype = "teleport"',
    ),
    flow(
        "a step that is a text", "steps[0] is 'delay', expected a step with its `type`", 'steps = ["delay"]'
    ),
    flow(
        "a step with an unknown key",
        "steps[0] has an unknown key 'minutes', a delay step takes: type, id, after, seconds",
        '[[steps]]\ntype = "delay"\nseconds = 1\nminutes = 2',
    ),
    flow(
        "a step without its chain",
        "steps[0].chain is missing, a Remark step needs: chain, text",
        '[[steps]]\ntype = "Remark"\ntext = "hi"',
    ),
    flow(
        "a step with an unknown chain",
        "steps[0].chain 'mars' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
        '[[steps]]\ntype = "Remark"\ntext = "hi"\nchain = "mars"',
    ),
    flow(
        "a step with a list as its text",
        "steps[0].text is a list, expected text",
        '[[steps]]\ntype = "Remark"\ntext = [7]\nchain = "polkadot"',
    ),
    flow(
        "a delay of minus one",
        "steps[0].seconds -1 is negative, expected a number above zero",
        '[[steps]]\ntype = "delay"\nseconds = -1',
    ),
    flow(
        "a delay of nan",
        "steps[0].seconds 'NaN' is not a number, expected digits with an optional point, like 1.5",
        '[[steps]]\ntype = "delay"\nseconds = nan',
    ),
    flow(
        "a delay of two days",
        "steps[0].seconds 172800 is longer than a day, expected at most 86400",
        '[[steps]]\ntype = "delay"\nseconds = 172800',
    ),
    flow(
        "a date for a text",
        "steps[0].text is a date or a time, expected text: write it in quotes",
        '[[steps]]\ntype = "Remark"\nchain = "polkadot"\ntext = 2026-01-01',
    ),
    flow(
        "two steps of one id",
        "steps[1].id 'a' is taken by steps[0], every id is used once",
        '[[steps]]\ntype = "delay"\nid = "a"\nseconds = 1\n[[steps]]\ntype = "delay"\nid = "a"\nseconds = 1',
    ),
    flow(
        "a step after nothing",
        "steps[0].after 'b' is not the id of a step, there is: a",
        '[[steps]]\ntype = "delay"\nid = "a"\nseconds = 1\nafter = ["b"]',
    ),
    flow(
        "steps that wait for each other",
        "the steps wait for each other in a circle: 'a > b > a'",
        '[[steps]]\ntype = "delay"\nid = "a"\nseconds = 1\nafter = "b"\n[[steps]]\ntype = "delay"\nid = "b"\nseconds = 1\nafter = "a"',
    ),
    flow(
        "an address of another kind",
        "steps[0].url 'file:///etc/passwd' is not an http address, expected one like https://example.org/path",
        '[[steps]]\ntype = "http"\nurl = "file:///etc/passwd"',
    ),
    flow(
        "an address with a password",
        "steps[0].url holds a user or a password before its host, expected them in a header",
        '[[steps]]\ntype = "http"\nurl = "https://me:secret@example.org/"',
    ),
    flow(
        "a header with a line break",
        # The value may be a secret.
        "steps[0].headers.X is not the value of a header, expected one line of text",
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\nheaders = { X = "a\\nb" }',
    ),
    flow(
        "a header that is not the step's to write",
        "steps[0].headers 'Host' is written by the request itself: leave it out",
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\nheaders = { Host = "b" }',
    ),
    flow(
        "a request that may take too long",
        "steps[0].timeout 301 is too long, expected at most 300 seconds",
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\ntimeout = 301',
    ),
    flow(
        "a request that is tried for ever",
        "steps[0].retries -1 is not a number of further tries, expected 0 to 10",
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\nretries = -1',
    ),
    flow(
        "a webhook that is waited for too long",
        "steps[0].timeout 86401 is too long, expected at most 86400 seconds",
        '[[steps]]\ntype = "webhook"\nname = "a"\ntimeout = 86401',
    ),
    flow(
        "an unknown method",
        "steps[0].method 'BREW' is not a method, expected one of: GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS",
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\nmethod = "BREW"',
    ),
    flow(
        "a transfer that cannot be made",
        "steps[0].assetid 'DOGE' is not an asset of polkadot that is known here, expected an id or a symbol like DOT",
        f'[[steps]]\ntype = "xTransfer"\nsource_chain = "polkadot"\ndest_chain = "assetHub"\nassetid = "DOGE"\namount = 1\ndestination_address = "{BOB}"',
    ),
    flow(
        "an amount that is true",
        "steps[0].amount True is not a number, expected digits with an optional point, like 1.5",
        f'[[steps]]\ntype = "xTransfer"\nsource_chain = "polkadot"\ndest_chain = "assetHub"\nassetid = "DOT"\namount = true\ndestination_address = "{BOB}"',
    ),
    flow(
        "a flow above 1 MiB",
        "file 'flow.toml' is larger than 1048576 bytes, the limit for it",
        "#" * (1024 * 1024 + 1),
        "too_large",
    ),
    case(
        "a flow file that is not there",
        ("create", "--file", "none.toml"),
        "file 'none.toml' is not there, expected the path of a file, or - for stdin",
        "not_found",
    ),
    case(
        "a flow in an unknown syntax",
        ("create", "--file", "f", "--syntax", "yaml"),
        "syntax 'yaml' is unknown, expected toml or json",
        files={"f": ""},
    ),
    case(
        "a flow of broken JSON",
        ("create", "--file", "f.json"),
        "flow is not JSON: expecting value (line 1, column 12)",
        "bad_json",
        files={"f.json": '{"steps": [,]}'},
    ),
    case(
        "a flow of a JSON list",
        ("create", "--file", "f.json"),
        "flow is a list, expected an object with `name` and `steps`",
        files={"f.json": "[]"},
    ),
    case(
        "a flow beside a command",
        ("create", "--file", "f.json", *scenario()[1:]),
        "--file does not go with scenario: give one of the two",
        files={"f.json": "[]"},
    ),
]

LINES = [
    case(
        "two amounts",
        (*scenario(), "--amount", "2"),
        "amount is given twice, as '1.5' and as '2': which one is meant?",
    ),
    case(
        "two destinations",
        (*transfer(), "--deschain", "hydraDx"),
        "destchain is given twice, as 'assetHub' and as 'hydraDx': which one is meant?",
    ),
    case(
        "two formats",
        (*transfer(output_format="call"), "--output-format", "extrinsic"),
        "output_format is given twice, as 'call' and as 'extrinsic': which one is meant?",
    ),
    case(
        "no destination",
        transfer(to=None),
        "destchain is missing, expected --destchain/--dest-chain/--deschain/--to",
    ),
    case("no amount", scenario(amount=None), "amount is missing, expected --amount"),
    case("no asset", swap(assetout=None), "assetout is missing, expected --assetout/--asset-out"),
    case("no chain", ("tx", "decode", "0x00"), "chain is missing, expected --chain"),
    case(
        "no transaction",
        ("tx", "decode", "--chain", "polkadot"),
        "HEX|- is missing, expected: scenarioctl tx decode [OPTIONS] HEX|-",
        usage="scenarioctl tx decode",
    ),
    case("no metadata", ("contract", "info", BOB), "abi is missing, expected --abi"),
    case(
        "no id", ("info",), "ID is missing, expected: scenarioctl info [OPTIONS] ID", usage="scenarioctl info"
    ),
    case(
        "an id too many",
        ("info", "abcdefghi", "jklmnopqr"),
        "Got unexpected extra argument (jklmnopqr)",
        usage="scenarioctl info",
    ),
    case(
        "an unknown command",
        ("transfer",),
        f"there is no command 'transfer', expected one of: {', '.join(COMMANDS)}",
        usage="scenarioctl",
    ),
    case(
        "a mistyped command",
        ("scenaro", "list"),
        "there is no command 'scenaro', did you mean scenario?",
        usage="scenarioctl",
    ),
    case(
        "a mistyped command below",
        ("scenario", "lst"),
        "there is no command 'lst', did you mean list?",
        usage="scenarioctl scenario",
    ),
    case(
        "an unknown option",
        ("scenario", "list", "--size", "7"),
        "there is no option '--size', did you mean --store?",
        usage="scenarioctl scenario list",
    ),
    case(
        "an option that only looks like a confirmation",
        ("xcm", "asset-transfer", "--dest", BOB),
        "there is no option '--dest', did you mean --destchain?",
        usage="scenarioctl xcm asset-transfer",
    ),
    case(
        "a mistyped option",
        (*transfer(amount=None), "--amout", "1"),
        "there is no option '--amout', did you mean --amount?",
        usage="scenarioctl xcm asset-transfer",
    ),
    case(
        "a value for a switch",
        ("--offline=maybe", "chain", "list"),
        "Option '--offline' does not take a value",
    ),
    case(
        "nothing to create",
        ("create", "--check"),
        "there is nothing to create, expected --file or one of: query, remark, scenario, swap",
        usage="scenarioctl create",
    ),
    case(
        "an option that is an escape sequence",
        ("chain", "list", "--\x1b[31m"),
        "there is no option '--\\x1b[31m'",
        usage="scenarioctl chain list",
    ),
    case(
        "a command that is an escape sequence",
        ("\x1b[31m",),
        f"there is no command '\\x1b[31m', expected one of: {', '.join(COMMANDS)}",
        usage="scenarioctl",
    ),
]

SETTINGS = [
    config(
        "TOML that does not read, in the settings",
        "config c.toml is not TOML: Invalid value (at line 1, column 11)",
        "offline = = true",
    ),
    config("settings of bytes", "config c.toml is not UTF-8 text: byte 0 is wrong", b"\xff\xfe"),
    config(
        "an unknown setting in the file",
        "config c.toml has the unknown key 'stor', did you mean store?",
        'stor = "x"',
    ),
    config(
        "a switch that is a text",
        "offline 'maybe' (config.toml) is not a switch, expected true or false",
        'offline = "maybe"',
    ),
    config(
        "a switch that is a number",
        "offline 7 (config.toml) is not a switch, expected true or false",
        "offline = 7",
    ),
    config(
        "a path that is a number",
        "store 7 (config.toml) is not a path, expected one like /path/to/store",
        "store = 7",
    ),
    config(
        "an empty path",
        "store '' (config.toml) is not a path, expected one like /path/to/store",
        'store = ""',
    ),
    config(
        "chains that are a list",
        "config c.toml: chains is not a table, expected [chains.NAME]",
        "chains = []",
    ),
    config(
        "a chain that is a text",
        "chains.rig 'x' is not a table, expected [chains.rig] with role, symbol, …",
        '[chains]\nrig = "x"',
    ),
    config(
        "a chain without a role",
        "chains.rig.role is missing, expected role, symbol and decimals",
        '[chains.rig]\nsymbol = "UNIT"\ndecimals = 12',
    ),
    config(
        "a chain of an unknown role",
        "chains.rig.role 'king' is not a role, expected one of: relay, asset_hub, dex, contracts, parachain",
        '[chains.rig]\nrole = "king"\nsymbol = "UNIT"\ndecimals = 12',
    ),
    config(
        "a chain with an unknown key",
        "chains.rig has the unknown key 'color', expected one of: title, role, relay, para_id, genesis, ss58_prefix, symbol, decimals, endpoints, aliases, testnet, assets",
        '[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\ncolor = "red"',
    ),
    config(
        "a chain whose relay is not there",
        "chains.rig.relay 'moon' is not a relay chain, expected one of: polkadot, kusama, paseo",
        '[chains.rig]\nrole = "asset_hub"\nsymbol = "UNIT"\ndecimals = 12\npara_id = 1000\nrelay = "moon"',
    ),
    config(
        "a chain with a wrong endpoint",
        "chains.rig.endpoints 'http://x' is not an endpoint, expected one like wss://rpc.example.org",
        '[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\nendpoints = ["http://x"]',
    ),
    config(
        "a chain with a wrong genesis",
        "chains.rig.genesis '0x12' is not a block hash, expected 0x and 64 hex digits",
        '[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\ngenesis = "0x12"',
    ),
    config(
        "a built-in chain made another",
        "chains.polkadot.decimals cannot be changed, polkadot is built in: expected endpoints or assets, or a new name",
        "[chains.polkadot]\ndecimals = 3",
    ),
    config(
        "an asset without decimals",
        "chains.rig.assets.decimals is missing, expected id, symbol and decimals",
        '[[chains.rig.assets]]\nid = 1\nsymbol = "X"\n[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12',
        scenario(source_chain="rig", dest_chain="rig"),
    ),
    case(
        "settings that are not there",
        ("--config", "none.toml", "chain", "list"),
        "config 'none.toml' is not there, create it with: scenarioctl config init",
    ),
    case(
        "settings with a NUL",
        ("--config", "a\0b", "chain", "list"),
        "config 'a\\x00b' holds a NUL character, no path does",
    ),
    case(
        "settings of a name too long",
        ("--config", "a" * 5000, "config", "init"),
        "config 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… cannot be written: File name too long",
    ),
    case(
        "settings below a file",
        ("--config", "c.toml/c.toml", "config", "init"),
        "config 'c.toml/c.toml' cannot be written: a file is where its folder should be",
        files={"c.toml": ""},
    ),
    case(
        "settings of bytes, set",
        ("--config", "c.toml", "config", "set", "offline", "true"),
        "config c.toml is not UTF-8 text: byte 0 is wrong",
        files={"c.toml": b"\xff"},
    ),
    case(
        "a flow of a name too long",
        ("create", "--file", "a" * 5000),
        "file 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… cannot be read: File name too long",
    ),
    case(
        "a share string on the line that is long",
        ("scenario", "import", "a" * 5000),
        "diagram 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… holds no zlib stream, expected the share string of a diagram",
    ),
    case(
        "settings that are a folder",
        ("--config", ".", "chain", "list"),
        "config '.' cannot be read: Is a directory",
    ),
    case(
        "an unknown setting",
        ("config", "set", "colour", "red"),
        "key 'colour' is not a setting, scenarioctl config show lists those that there are",
    ),
    case(
        "a switch set to a text",
        ("config", "set", "offline", "perhaps"),
        "offline 'perhaps' (config set) is not a switch, expected true or false",
    ),
    case(
        "a store set to nothing",
        ("config", "set", "store", ""),
        "store '' (config set) is not a path, expected one like /path/to/store",
    ),
    case(
        "half of a chain's setting",
        ("config", "set", "chains.rig", "x"),
        "key 'chains.rig' is not a setting of a chain, expected chains.NAME.SETTING, or chains.NAME and a table like {role = 'relay', symbol = 'UNIT', decimals = 12}",
    ),
    case(
        "a chain set to what it cannot be",
        ("config", "set", "chains.rig.role", "king"),
        "chains.rig.symbol is missing, expected role, symbol and decimals",
    ),
    case(
        "settings that are there already",
        ("--config", "c.toml", "config", "init"),
        "config c.toml is there already: change it with scenarioctl config set, or remove it first",
        "conflict",
        files={"c.toml": ""},
    ),
]

STORES = [
    case(
        "a store that is a folder",
        ("--store", ".", "scenario", "list"),
        "store '{folder}' cannot be opened, expected a file that can be read and written",
        "store_failed",
    ),
    case(
        "a store that is not a database",
        ("--store", "s.db", "scenario", "list"),
        "store '{folder}/s.db' is not a database, expected one of scenarioctl",
        "store_failed",
        files={"s.db": "hello, I am text\n" * 100},
    ),
    case(
        "a store below a file",
        ("--store", "file/s.db", "scenario", "list"),
        "store '{folder}/file/s.db' cannot be opened: Not a directory",
        "store_failed",
        files={"file": ""},
    ),
    case(
        "a store that is a URL",
        ("--store", "postgres://me:secret@db/x", "scenario", "list"),
        "store 'postgres://…' (flag) is a URL, expected a path like /path/to/store",
    ),
    case(
        "a store with a NUL",
        ("--store", "a\0b", "scenario", "list"),
        "store 'a\\x00b' (flag) holds a NUL character, no path does",
    ),
    case(
        "a store where nothing can be made",
        ("--store", "/proc/s.db", "create", "remark", "--chain", "polkadot", "--text", "hi"),
        "store '/proc/s.db' cannot be opened: No such file or directory",
        "store_failed",
    ),
    case(
        "an empty store name",
        ("--store", "", "scenario", "list"),
        "store '' (flag) is not a path, expected one like /path/to/store",
    ),
]

CONTRACTS = [
    abi(
        "metadata of version 1",
        "abiJson metadataVersion '0.1.0' cannot be read, expected ink! metadata version 3 (under V3), 4, 5 or 6",
        {"metadataVersion": "0.1.0", "spec": {}},
    ),
    abi(
        "metadata under V1",
        "abiJson version V1 cannot be read, expected ink! metadata version 3 (under V3), 4, 5 or 6",
        {"V1": {"spec": {}}},
    ),
    abi(
        "metadata of version 7",
        "abiJson version 7 cannot be read, expected ink! metadata version 3 (under V3), 4, 5 or 6",
        {"version": 7},
    ),
    abi(
        "metadata of a version in words",
        "abiJson version 'six' cannot be read, expected ink! metadata version 3 (under V3), 4, 5 or 6",
        {"version": "six"},
    ),
    abi(
        "metadata without a version",
        "abiJson has no version, expected ink! metadata version 3 (under V3), 4, 5 or 6",
        {"spec": {}},
    ),
    abi("metadata that is a list", "abiJson is a list, expected an object: a contract's metadata file", []),
    abi("metadata without a spec", "abiJson has no spec, expected an object", {"version": 5, "types": []}),
    abi(
        "metadata without types",
        "abiJson has no types, expected a list",
        {"version": 5, "spec": V5_ABI["spec"]},
    ),
    abi(
        "metadata without messages",
        "abiJson spec has no messages, expected a list",
        {"version": 5, "types": [], "spec": {}},
    ),
    abi(
        "metadata with no message in its list",
        "abiJson spec messages is empty, expected at least one message",
        {"version": 5, "types": [], "spec": {"messages": []}},
    ),
    abi(
        "a message that is null",
        "abiJson spec message 1 is null, expected an object",
        {"version": 5, "types": [], "spec": {"messages": [None]}},
    ),
    abi(
        "a message without a label",
        "abiJson spec message 1 has no label, expected text",
        {"version": 5, "types": [], "spec": {"messages": [{}]}},
    ),
    abi(
        "a message with a label that is an escape sequence",
        "abiJson spec message 1 label '\\x1b[31m' is not a name",
        message(label="\x1b[31m"),
    ),
    abi(
        "a message with a short selector",
        "abiJson spec message 1 'get' selector '0x01' is not four bytes of hex, expected one like 0x633aa551",
        message(selector="0x01"),
    ),
    abi(
        "a message that may mutate or not",
        "abiJson spec message 1 'get' mutates is 'yes', expected true or false",
        message(mutates="yes"),
    ),
    abi(
        "a message with an argument of no type",
        "abiJson spec message 1 'get' argument 'x' has no type, expected an object",
        message(args=[{"label": "x"}]),
    ),
    abi(
        "a message with an argument of a type that is not there",
        "abiJson spec message 1 'get' argument 'x' has the type id 99, which is not in abiJson types",
        message(args=[{"label": "x", "type": {"type": 99}}]),
    ),
    abi(
        "a type that holds itself",
        "abiJson spec message 1 'get' argument 'x' has a type without end: type 0 holds itself",
        {
            **message(args=[{"label": "x", "type": {"type": 0}}]),
            "types": [{"id": 0, "type": {"def": {"sequence": {"type": 0}}}}],
        },
    ),
    abi(
        "metadata that is broken JSON",
        "abi is not JSON: expecting property name enclosed in double quotes (line 1, column 15)",
        '{"version": 5,',
    ),
    case(
        "metadata that is no text",
        ("contract", "info", "--abi", "abi.json", BOB),
        "abi 'abi.json' is not UTF-8 text: byte 0 is wrong",
        files={"abi.json": b"\xff"},
    ),
    abi(
        "a contract's address with a wrong checksum",
        "address '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf4' has a wrong checksum, it was mistyped or cut: copy the address again",
        V5_ABI,
        BOB[:-1] + "4",
    ),
    abi(
        "an EVM address of a contract of version 5",
        "address '0xabababababababababababababababababababab' is an EVM address of 20 bytes, but an AccountId32 is needed: expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
        V5_ABI,
        "0x" + "ab" * 20,
    ),
    abi(
        "an SS58 address of a contract of version 6",
        "address '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3' is not the address of a pallet-revive contract, expected 0x and 40 hex digits",
        {**V5_ABI, "version": 6},
    ),
    case(
        "metadata that is not there",
        ("contract", "info", "--abi", "none.json", BOB),
        "abi 'none.json' is not there, expected the path of a file, or - for stdin",
        "not_found",
    ),
    case(
        "metadata beyond all size",
        ("contract", "info", "--abi", "abi.json", BOB),
        "abi 'abi.json' is larger than 16777216 bytes, the limit for it",
        "too_large",
        files={"abi.json": b" " * TOO_LONG},
    ),
    case(
        "a contract on an unknown chain",
        ("contract", "info", "--abi", "abi.json", BOB, "--chain", "mars"),
        "chain 'mars' is not a chain, expected one of: polkadot, assetHub, hydraDx, kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
        files={"abi.json": json.dumps(V5_ABI)},
    ),
]

TABLE = [
    *CHAINS,
    *ROUTES,
    *ASSETS,
    *AMOUNTS,
    *SWAP_ROUTES,
    *ADDRESSES,
    *TRANSACTIONS,
    *SIGNING,
    *IDS,
    *REMARKS,
    *IMPORTS,
    *DRAFTS,
    *FLOWS,
    *LINES,
    *SETTINGS,
    *STORES,
    *CONTRACTS,
]


def store_path() -> Path:
    return Path.home() / ".local" / "share" / "scenarioctl" / "scenarios.db"


def count_stored() -> int:
    """Return how many scenarios the user's own store holds, without making one."""
    if not store_path().exists():
        return 0
    database = sqlite3.connect(store_path())
    (amount,) = database.execute("SELECT count(*) FROM scenarios").fetchone()
    database.close()
    return int(amount)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


#: Commands whose documented answer has a flag: an error has it too.
FLAGS = {
    ("create", "swap"): {"success": False},
    ("scenario", "import"): {"success": False},
    ("scenario", "export"): {"success": False},
    ("scenario", "delete"): {"success": False},
    ("contract", "info"): {"sucess": False},
}


def flag_of(words: Sequence[str]) -> dict[str, bool]:
    return next((FLAGS[pair] for pair in pairwise(words) if pair in FLAGS), {})


@pytest.mark.parametrize(("line", "error", "code", "files", "stdin", "imported", "usage"), TABLE)
def test_bad_input_is_refused_in_one_sentence(
    scenarioctl: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: Line,
    error: str,
    code: str,
    files: Files,
    stdin: str,
    imported: str,
    usage: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    scenario_id = scenarioctl("scenario", "import", imported).out.strip() if imported else ""
    words = [word.replace("{id}", scenario_id) for word in line]
    standard_input = Path(stdin) if stdin else None
    before = content(tmp_path), count_stored()

    as_json = scenarioctl(*words, "--json", stdin=standard_input)
    plain = scenarioctl(*words, stdin=standard_input)

    hint = f"Try '{usage} --help'.\n" if usage else ""
    said = error.replace("{folder}", str(tmp_path))
    confirm = {"confirm": "yes"} if said.endswith("confirm it with --yes (yes) if you mean it") else {}
    assert json.loads(as_json.out) == {**flag_of(words), **confirm, "error": said, "code": code}
    assert (as_json.err, as_json.code) == ("", EXITS[code])
    assert plain.err == f"Error: {error}\n{hint}".replace("{folder}", str(tmp_path))
    assert (plain.out, plain.code) == ("", EXITS[code])
    assert (content(tmp_path), count_stored()) == before


def test_no_two_cases_share_a_name() -> None:
    names = [row.id for row in TABLE]

    assert len(names) == len(set(names)) > 300


#: Commands to a terminal: colours, its title, eight-bit escapes, letters that turn the line around.
NAUGHTY = "a\x1b[31m\x1b]0;x\x07\x9b2J\u202e\tb\nc"


def naughty_diagram() -> str:
    form = {"chain": NAUGHTY, "asset": {"symbol": NAUGHTY}, "address": NAUGHTY, "amount": NAUGHTY}
    sides = {"source": {**form, "target": NAUGHTY}, "target": form}
    return diagram(
        {"id": NAUGHTY, "type": NAUGHTY, "formData": {"chain": NAUGHTY}},
        {"id": "1", "type": "chain", "formData": form},
        *(
            {"id": action, "type": "action", "formData": {"action": action, "actionData": sides}}
            for action in ("xTransfer", "swap", "Remark", NAUGHTY)
        ),
        {"id": "5", "type": "http", "formData": {"url": NAUGHTY, "method": NAUGHTY}},
        {"id": "6", "type": "webhook", "formData": {"webhookName": NAUGHTY, "uuid": NAUGHTY}},
        {"id": "7", "type": "delay", "formData": {"seconds": NAUGHTY}},
        *(
            {
                "id": kind,
                "type": kind,
                "formData": {
                    "selectedChain": NAUGHTY,
                    "selectedPallet": NAUGHTY,
                    "selectedMethod": {"name": NAUGHTY},
                    "params": {NAUGHTY: NAUGHTY},
                },
            }
            for kind in ("chainQuery", "chainTx")
        ),
    )


@pytest.mark.parametrize("terminal", [False, True], ids=["in a pipe", "on a terminal"])
@pytest.mark.parametrize(
    "line",
    [
        "info {id}",
        "scenario list",
        "scenario list --json",
        "scenario show {id}",
        "scenario show {id} --json",
        "scenario show {id} --field summary",
        "scenario export {id} --as json",
        "--offline scenario full {id}",
        "--offline scenario full {id} --json",
        "chain list",
        "chain list --json",
        "config show",
    ],
)
def test_what_stands_in_a_file_is_no_command_to_the_terminal(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, terminal: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    name = json.dumps(NAUGHTY)
    Path("c.toml").write_text(
        f'[chains.rig]\nrole = "relay"\nsymbol = {name}\ndecimals = 1\ntitle = {name}\nendpoints = ["ws://x"]\n'
    )
    Path("it.json").write_text(naughty_diagram())
    scenario_id = scenarioctl("scenario", "import", "it.json").out.strip()
    if terminal:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        # Rich then draws without escapes of its own.
        monkeypatch.setenv("TERM", "dumb")

    ended = scenarioctl("--config", "c.toml", *line.format(id=scenario_id).split())

    assert ended.code in (0, 2)
    printed = (ended.out + ended.err).replace("\n", "")
    # Columns in a pipe are told apart by tabs.
    assert printed.replace("" if terminal else "\t", "").isprintable()


@pytest.mark.parametrize(
    ("damage", "error", "code"),
    [
        (b"", "is damaged: its end is missing", "invalid_request"),
        (b"hello, I am text" * 9, "is damaged: it is not an LZ4 frame", "invalid_request"),
        (lz4.frame.compress(b"{}")[:-4], "is damaged: its end is missing", "invalid_request"),
        (lz4.frame.compress(b"{}") + b"x", "is damaged: 1 bytes follow its end", "invalid_request"),
        (lz4.frame.compress(b"\xff"), "is damaged: it does not hold JSON", "invalid_request"),
        (
            lz4.frame.compress(b"[]"),
            "is a list, expected an object with `nodes` and `edges`",
            "invalid_request",
        ),
        (lz4.frame.compress(b" " * 64 * 1024 * 1024), "unpacks to more than 16777216 bytes", "too_large"),
    ],
    ids=["nothing", "text", "cut", "more behind it", "no JSON", "another shape", "a bomb"],
)
def test_a_damaged_scenario_is_named(scenarioctl: Run, damage: bytes, error: str, code: str) -> None:
    scenario_id = scenarioctl("create", "remark", "--chain", "polkadot", "--text", "hi").out.strip()
    database = sqlite3.connect(store_path())
    with database:
        database.execute("UPDATE scenarios SET blob = ?", (damage,))
    database.close()

    for line in (
        ("scenario", "show", scenario_id),
        ("scenario", "export", scenario_id),
        ("--offline", "scenario", "full", scenario_id),
    ):
        ended = scenarioctl(*line, "--json")

        said = f"scenario {scenario_id} {error}"
        assert json.loads(ended.out) == {**flag_of(line), "error": said, "code": code}
        assert (ended.err, ended.code) == ("", 2)
    assert scenarioctl("info", scenario_id).out == "polkadot > Remark\n"


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (
            "PRAGMA user_version = 99",
            "store '{store}' was written by a newer scenarioctl (store version 99, this one knows 4): "
            "upgrade scenarioctl, or name another store",
        ),
        (
            "PRAGMA application_id = 7",
            "store '{store}' is a database of another program, expected one of scenarioctl",
        ),
    ],
)
def test_a_store_that_is_not_ours_is_left_alone(scenarioctl: Run, script: str, error: str) -> None:
    scenarioctl("create", "remark", "--chain", "polkadot", "--text", "hi")
    database = sqlite3.connect(store_path())
    database.execute(script)
    database.close()
    before = store_path().read_bytes()

    ended = scenarioctl("create", "remark", "--chain", "polkadot", "--text", "ho")

    assert (ended.err, ended.out, ended.code) == (f"Error: {error.format(store=store_path())}\n", "", 2)
    assert store_path().read_bytes() == before


def test_a_store_that_cannot_be_written_says_so(scenarioctl: Run) -> None:
    scenario_id = scenarioctl("create", "remark", "--chain", "polkadot", "--text", "hi").out.strip()
    database = sqlite3.connect(store_path())
    # As on a disk without room: no page can be added.
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.close()

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened = plain_connect(*arguments, **options)
        opened.execute(f"PRAGMA max_page_count = {pages}")
        return opened

    plain_connect: Callable[..., sqlite3.Connection] = sqlite3.connect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sqlite3.connect", connect)
        ended = scenarioctl("create", "remark", "--chain", "polkadot", "--text", random_text(100_000))

    assert ended.err == f"Error: store '{store_path()}' has no room left on its disk, nothing was changed\n"
    assert (ended.out, ended.code) == ("", 2)
    assert count_stored() == 1
    assert scenarioctl("info", scenario_id).out == "polkadot > Remark\n"


def random_text(length: int) -> str:
    """Return text that does not compress."""
    return "".join(random.Random(7).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=length))


def test_what_cannot_run_is_imported_and_listed_by_show(scenarioctl: Run, tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    path.write_text(
        diagram(
            {"id": "a", "type": "teleporter"},
            remark_node("b", text=""),
            remark_node("c"),
            remark_node("c"),
            edges=[("b", "c"), ("c", "b"), ("c", "ghost")],
        )
    )

    scenario_id = scenarioctl("scenario", "import", str(path)).out.strip()
    shown = json.loads(scenarioctl("scenario", "show", scenario_id, "--json").out)

    assert shown["problems"] == [
        {"node": "c", "problem": "the id 'c' is used by more than one node"},
        {"node": "", "problem": "the edge from 'c' to 'ghost' leads to no node: there is no 'ghost'"},
        {"node": "b", "problem": "the edges run in a circle: 'b' > 'c' > 'b'"},
        {
            "node": "a",
            "problem": "the node type 'teleporter' is unknown and skipped in a run, expected one of: "
            "chain, chainQuery, chainTx, http, webhook, delay, action",
        },
        {"node": "b", "problem": "the Remark has no text, expected it in actionData.source.target"},
    ]


NASTY = (
    *(
        "",
        " ",
        "-",
        "--",
        "-1",
        "0",
        "1.5",
        "1e400",
        "NaN",
        "true",
        "null",
        "[]",
        "{}",
        '{"a": 1}',
        "0x",
        "0x00",
    ),
    *(
        "\0",
        "\x1b[31m",
        "\udcff",
        "é",
        "１",
        "🦀",
        "a" * 5000,
        "9" * 5000,
        "[" * 5000,
        "\n",
        "%s",
        "../..",
        "*",
    ),
    *("polkadot", "assetHub", "hydraDx", "DOT", "HDX", "10", "abcdefghi", BOB, BOB_HEX, "immortal", "64"),
    *(
        "0x00071468656c6c6f",
        "call",
        "payload",
        "json",
        "toml",
        "5>omnipool>0",
        HELLO,
        "steps = []",
        "offline",
    ),
)
PATHS = ("it", "it.json", "it.toml", "missing", ".", "-", "a\0b", "", "x://y", "it/below")


#: What goes on until somebody ends it: `daemon`, and `job logs --follow`.
ENDLESS = {"daemon", "follow"}


def lines() -> st.SearchStrategy[list[str]]:
    """Give a command with some of its parameters, some of them twice, and something wrong in most."""
    word = st.sampled_from(NASTY) | st.text(max_size=40)
    path = st.sampled_from(PATHS)
    reading = {"config", "store", "flow", "abi"}
    known = {name: command for name, command in commands().items() if name not in ENDLESS}

    @st.composite
    def line(draw: st.DrawFn) -> list[str]:
        name, command = draw(st.sampled_from(sorted(known.items())))
        words = name.split()
        for parameter in command.params:
            value = path if parameter.name in reading else word
            if isinstance(parameter, click.Argument):
                words += [draw(value) for _ in range(draw(st.sampled_from((1, 1, 1, 1, 0, 2))))]
            elif parameter.name not in {"help", *ENDLESS}:
                for _ in range(draw(st.sampled_from((0, 0, 1, 1, 1, 2)))):
                    words.append(draw(st.sampled_from(parameter.opts)))
                    if not getattr(parameter, "is_flag", False):
                        words.append(draw(value))
        return words

    return line() | st.lists(word | st.sampled_from(sorted(known)), max_size=5)


def files() -> st.SearchStrategy[bytes]:
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ("nodes", "edges", "id", "type", "formData", "steps", "source", "target", "version")
                )
                | st.text(max_size=5),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
    return (
        st.binary(max_size=60)
        | values.map(lambda value: json.dumps(value).encode())
        | st.just(HELLO.encode())
    )


def play(scenarioctl: Run, folder: Path, line: list[str], file: bytes) -> None:
    """Run *line* where files of that content are, and see that it ends as every run may."""
    for name in ("it", "it.json", "it.toml"):
        (folder / name).write_bytes(file)
    shutil.rmtree(Path.home() / ".config", ignore_errors=True)

    # Never asking a node, wherever the line says otherwise.
    ended = scenarioctl("--offline", *line, stdin=folder / "it")

    assert ended.code in {0, 2, 3, 4, 5, 6}, (line, ended)
    assert "Traceback" not in ended.out + ended.err
    if ended.code and "--json" in line:
        assert set(json.loads(ended.out)) - {"success", "sucess"} == {"error", "code"}
    elif ended.code:
        assert ended.out == ""
        assert ended.err.startswith("Error: ")
        assert len(ended.err.splitlines()) <= 2
        assert ended.err.replace("\n", "").isprintable()


def randomly(examples: int, *, derandomize: bool) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomize,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@randomly(800, derandomize=True)
@given(line=lines(), file=files())
def test_no_line_and_no_file_is_a_bug(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: list[str], file: bytes
) -> None:
    monkeypatch.chdir(tmp_path)

    play(scenarioctl, tmp_path, line, file)


@pytest.mark.soak
@randomly(20_000, derandomize=False)
@given(line=lines(), file=files())
def test_no_line_and_no_file_is_a_bug_for_long(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: list[str], file: bytes
) -> None:
    monkeypatch.chdir(tmp_path)

    play(scenarioctl, tmp_path, line, file)
