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
from scenarioctl.stores.sqlite.database_file import MIGRATIONS
from tests.conftest import BOB, BOB_HEX, Run, examples
from tests.messages import Says, says
from tests.refusals import refused
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
#: What a file holds; a large one is made when its test runs, not by every worker that collects it.
Content = str | bytes | Callable[[], str | bytes]
Files = Mapping[str, Content]


def case(
    name: str,
    line: Line,
    error: Says | str,
    code: str = "invalid_request",
    *,
    files: Files | None = None,
    stdin: str = "",
    imported: str = "",
    usage: str = "",
    confirm: bool = False,
) -> Any:
    """Return a row: `{id}` in *line* is the scenario made by importing the file *imported*.

    *stdin* is a file's name; *usage* the command whose help the answer names; *confirm* says that `yes` would allow it.
    """
    return pytest.param(line, error, code, files or {}, stdin, imported, usage, confirm, id=name)


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


def imports(name: str, error: Says, content: Content, code: str = "invalid_request") -> Any:
    """Return a row: *content* is a file that cannot be imported."""
    return case(name, ("scenario", "import", "it.txt"), error, code, files={"it.txt": content})


def flow(name: str, error: Says, content: str | bytes, code: str = "invalid_request") -> Any:
    """Return a row: *content* is a flow file that cannot be used."""
    return case(name, ("create", "--file", "flow.toml"), error, code, files={"flow.toml": content})


def abi(name: str, error: Says, content: Any, address: str = BOB) -> Any:
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


def full(name: str, error: Says, content: str, code: str = "invalid_request") -> Any:
    """Return a row: the diagram *content* is stored as it is, and refused when it is drafted."""
    return case(
        name,
        ("--offline", "scenario", "full", "{id}"),
        error,
        code,
        files={"it.json": content},
        imported="it.json",
    )


def config(name: str, error: Says, content: str | bytes, line: Line = ("chain", "list")) -> Any:
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
        says("sourchain", "polkadoot"),
    ),
    case(
        "an unknown destination chain",
        transfer(to="moonbeam"),
        says("destchain", "moonbeam"),
    ),
    case(
        "an empty chain",
        transfer(to=""),
        says("destchain", "''", "polkadot"),
    ),
    case(
        "a chain with spaces",
        scenario(source_chain="no where"),
        says("source_chain", "no where"),
    ),
    case(
        "a chain with an escape sequence",
        scenario(dest_chain="\x1b[31mred"),
        says("dest_chain", "\\x1b[31mred"),
    ),
    case(
        "a chain that no byte of UTF-8 spells",
        scenario(source_chain="\udcff"),
        says("source_chain", "\\udcff"),
    ),
    case(
        "an unknown chain in a path",
        ("template", "stats", "doge"),
        says("chain", "doge"),
        "not_found",
    ),
    case(
        "an unknown chain to filter by",
        ("scenario", "list", "--chain", "doge"),
        says("chain", "doge"),
    ),
    case(
        "an unknown chain for a remark",
        ("create", "remark", "--chain", "x" * 200, "--text", "hi"),
        says("chain", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    ),
    case(
        "an unknown chain for a query",
        ("create", "query", "--chain", "btc", "System", "Number"),
        says("chain", "btc"),
    ),
    case(
        "a transaction of an unknown chain",
        decode("0x00071468656c6c6f", "btc"),
        says("chain", "btc"),
    ),
    case(
        "a chain without a runtime table",
        transfer(**{"from": "paseo", "to": "paseo", "assetid": "PAS"}),
        says("--offline", "runtime"),
        "chain_unreachable",
    ),
    case(
        "a swap on a chain without an exchange",
        swap(chain="assetHub"),
        says("chain", "assetHub"),
    ),
    case(
        "a role of no chain",
        ("chain", "list", "--role", "bank"),
        says("role", "bank"),
    ),
    case(
        "an order that chains have not",
        ("chain", "list", "--sort", "size"),
        says("sort", "size"),
    ),
]

ROUTES = [
    case(
        "HDX to Asset Hub",
        transfer(**{"from": "hydraDx", "to": "assetHub", "assetid": "0"}),
        says("HDX", "hydraDx", "assetHub", "UntrustedReserveLocation"),
    ),
    case(
        "HDX to the relay chain",
        transfer(**{"from": "hydraDx", "to": "polkadot", "assetid": "HDX"}),
        says("HDX", "hydraDx", "DOT"),
    ),
    case(
        "USDT from the relay chain",
        transfer(assetid="USDT"),
        says("assetid", "USDT"),
    ),
    case(
        "USDT of Hydration to the relay chain",
        transfer(**{"from": "hydraDx", "to": "polkadot", "assetid": "10"}),
        says("USDT", "hydraDx", "DOT"),
    ),
    case(
        "USDT of Asset Hub to the relay chain",
        transfer(**{"from": "assetHub", "to": "polkadot", "assetid": "1984"}),
        says("USDt", "assetHub", "DOT"),
    ),
    case(
        "Kusama to Hydration",
        transfer(**{"from": "kusama", "to": "hydraDx", "assetid": "KSM"}),
        says("KSM", "hydraDx"),
    ),
    case(
        "Polkadot to Kusama",
        transfer(to="kusama"),
        says("DOT", "polkadot"),
    ),
    case(
        "one Asset Hub to the other",
        transfer(**{"from": "assetHub", "to": "assetHub_kusama"}),
        says("DOT", "assetHub_kusama"),
    ),
    case(
        "to a chain that has closed",
        transfer(to="pop"),
        says("destchain", "pop"),
    ),
    case(
        "too little for the last hop",
        transfer(to="hydraDx", amount="9999999999"),
        says("amount", "0.9999999999", "DOT", "hydraDx"),
    ),
    case(
        "a scenario with an unsafe route",
        scenario(source_chain="hydraDx", assetid="HDX"),
        says("HDX", "hydraDx", "assetHub", "UntrustedReserveLocation"),
    ),
    case(
        "a scenario between two networks",
        scenario(dest_chain="kusama"),
        says("DOT", "polkadot"),
    ),
    case(
        "LRNA within the wrong family",
        transfer(**{"from": "hydraDx", "to": "assetHub", "assetid": "LRNA"}),
        says("LRNA", "hydraDx", "assetHub", "UntrustedReserveLocation"),
    ),
]

ASSETS = [
    case(
        "an unknown symbol",
        transfer(assetid="DOGE"),
        says("assetid", "DOGE"),
    ),
    case(
        "an unknown id on the relay chain",
        transfer(assetid="5"),
        says("assetid", "5"),
    ),
    case(
        "an unknown id on Hydration",
        transfer(**{"from": "hydraDx", "assetid": "4294967295"}),
        says("assetid", "4294967295", "hydraDx"),
    ),
    case(
        "an id above u32",
        transfer(**{"from": "assetHub", "to": "polkadot", "assetid": "4294967296"}),
        says("assetid", "4294967296", "assetHub"),
    ),
    case(
        "an id of a thousand digits",
        transfer(assetid="9" * 1000),
        says("assetid", "9999999999999999999999999999999999999999999999999999999999"),
    ),
    case(
        "a negative id",
        transfer(assetid="-1"),
        says("assetid", "-1"),
    ),
    case(
        "an id with a point",
        transfer(assetid="1.5"),
        says("assetid", "1.5"),
    ),
    case(
        "an id of other digits",
        transfer(assetid="１９８４"),
        says("assetid", "１９８４"),
    ),
    case(
        "an empty asset",
        transfer(assetid=""),
        says("assetid", "empty"),
    ),
    case(
        "a symbol that fits several assets",
        transfer(**{"from": "hydraDx", "assetid": "USDT"}),
        says("assetid", "USDT", "hydraDx", "10"),
    ),
    case(
        "a receiver of zeros",
        transfer(destinationaddress="0x" + "00" * 32),
        says(
            "destinationaddress", "0x0000000000000000000000000000000000000000000000000000000000000000", "32"
        ),
        confirm=True,
    ),
    case(
        "a version of XCM",
        transfer(**{"xcm-version": "2"}),
        says("xcm_version", "2", "XCM"),
    ),
    case(
        "an asset with an escape sequence",
        transfer(assetid="\x1b]0;title\x07"),
        says("assetid", "\\x1b]0;title\\x07"),
    ),
    case(
        "a swap of an unknown asset",
        swap(assetin="DOGE"),
        says("assetin", "DOGE", "hydraDx"),
    ),
    case(
        "a swap into an unknown asset",
        swap(assetout="DOGE"),
        says("assetout", "DOGE", "hydraDx"),
    ),
    case(
        "a swap into the asset sold",
        swap(assetout="5"),
        says("assetout", "5"),
    ),
    case(
        "whole tokens of an asset of unknown decimals",
        scenario(source_chain="assetHub", dest_chain="assetHub", assetid="987654321"),
        says("amount", "1.5", "987654321", "assetHub"),
    ),
]

AMOUNTS = [
    case(
        "raw 1e400",
        transfer(amount="1e400"),
        says("amount", "1e400", "2^128"),
    ),
    case(
        "raw NaN",
        transfer(amount="NaN"),
        says("amount", "NaN"),
    ),
    case(
        "raw inf",
        transfer(amount="inf"),
        says("amount", "inf"),
    ),
    case("raw -1", transfer(amount="-1"), says("amount", "-1")),
    case(
        "raw true",
        transfer(amount="true"),
        says("amount", "true"),
    ),
    case(
        "raw nothing",
        transfer(amount=""),
        says("amount", "''", "number"),
    ),
    case(
        "raw with a space before",
        transfer(amount=" 1"),
        says("amount", "' 1'"),
    ),
    case(
        "raw with a line break",
        transfer(amount="1\n"),
        says("amount", "1\\n"),
    ),
    case(
        "raw with underscores at an end",
        transfer(amount="1_000_"),
        says("amount", "1_000_"),
    ),
    case(
        "raw with a comma",
        transfer(amount="1,5"),
        says("amount", "1,5", "15000000000", "1.5 DOT"),
    ),
    case(
        "raw with commas",
        transfer(amount="1,500,000"),
        says("amount", "1,500,000", "1500000", "0.00015 DOT"),
    ),
    case(
        "raw with a comma between thousands",
        transfer(amount="1,500"),
        says("amount", "1,500", "1500", "0.00000015 DOT"),
    ),
    case(
        "raw with a symbol",
        transfer(amount="1.5 DOT"),
        says("amount", "1.5 DOT", "15000000000"),
    ),
    case(
        "raw with another symbol",
        transfer(amount="1.5 KSM"),
        says("amount", "1.5 KSM", "DOT"),
    ),
    case(
        "raw with a symbol and underscores",
        transfer(amount="1_000 DOT"),
        says("amount", "1_000 DOT", "10000000000000"),
    ),
    case(
        "raw with a fraction and its unit",
        transfer(amount="1.5raw"),
        says("amount", "1.5"),
    ),
    case(
        "raw in full-width digits",
        transfer(amount="１"),
        says("amount", "１"),
    ),
    case(
        "raw in Arabic digits",
        transfer(amount="٣"),
        says("amount", "٣"),
    ),
    case("raw 0", transfer(amount="0"), says("amount", "0")),
    case("raw 0.0", transfer(amount="0.0"), says("amount", "0.0")),
    case(
        "raw 2^128",
        transfer(amount=str(2**128)),
        says("amount", "340282366920938463463374607431768211456", "2^128"),
    ),
    case(
        "raw 0x10",
        transfer(amount="0x10"),
        says("amount", "0x10"),
    ),
    case(
        "raw with a fraction",
        transfer(amount="1.5"),
        says("amount", "1.5"),
    ),
    case(
        "raw +1",
        transfer(amount="+1"),
        says("amount", "+1"),
    ),
    case(
        "raw of 5000 digits",
        transfer(amount="9" * 5000),
        says("amount", "9999999999999999999999999999999999999999999999999999999999"),
    ),
    case(
        "raw 1e99999",
        transfer(amount="1e99999"),
        says("amount", "1e99999"),
    ),
    case(
        "raw as a list",
        transfer(amount="[1]"),
        says("amount", "[1]"),
    ),
    case(
        "whole tokens with too many decimals",
        scenario(amount="1.00000000001"),
        says("amount", "1.00000000001", "DOT", "10"),
    ),
    case("whole tokens 1e-400", scenario(amount="1e-400"), says("amount", "1E-400", "DOT", "10")),
    case(
        "whole tokens beyond u128",
        scenario(amount="34028236692093846346337460744"),
        says("amount", "34028236692093846346337460744", "2^128"),
    ),
    case(
        "whole tokens 1e400",
        scenario(amount="1e400"),
        says("amount", "1e400", "2^128"),
    ),
    case(
        "whole tokens NaN",
        scenario(amount="NaN"),
        says("amount", "NaN"),
    ),
    case(
        "whole tokens Infinity",
        scenario(amount="Infinity"),
        says("amount", "Infinity"),
    ),
    case("whole tokens -1", scenario(amount="-1"), says("amount", "-1")),
    case("whole tokens 0", scenario(amount="0"), says("amount", "0")),
    case(
        "whole tokens with a comma that can be read in two ways",
        scenario(amount="1,500"),
        says("amount", "1,500", "1500", "1.5"),
    ),
    case(
        "whole tokens with the symbol of another asset",
        scenario(amount="1.5 KSM"),
        says("amount", "1.5 KSM", "DOT"),
    ),
    case(
        "whole tokens with a unit and no asset",
        scenario(amount="1.5 DOT", assetid="{{ asset }}"),
        says("amount", "1.5 DOT"),
    ),
    case(
        "raw with a fraction in whole tokens",
        scenario(amount="1.5raw"),
        says("amount", "1.5"),
    ),
    case("a swap of nothing", swap(amount="0"), says("amount", "0")),
    case(
        "a swap with too many decimals",
        swap(amount="0.00000000001"),
        says("amount", "0.00000000001", "DOT", "10"),
    ),
    case(
        "a minimum with a fraction",
        swap(min_amount_out="1.5"),
        says("min_amount_out", "1.5"),
    ),
    case(
        "a minimum of zero",
        swap(min_amount_out="0"),
        says("min_amount_out", "0"),
    ),
    case(
        "a minimum that is no number",
        swap(min_amount_out="cheap"),
        says("min_amount_out", "cheap"),
    ),
    case(
        "a swap without a minimum",
        swap(min_amount_out=None),
        says("hydraDx", "--offline", "min_received", "min_amount_out"),
        "chain_unreachable",
    ),
    case(
        "a slippage of 100 per cent",
        swap(min_amount_out=None, slippage="100"),
        says("slippage", "100"),
    ),
    case(
        "a negative slippage",
        swap(min_amount_out=None, slippage="-1"),
        says("slippage", "-1"),
    ),
    case(
        "a slippage that is no number",
        swap(slippage="1%"),
        says("slippage", "1%"),
    ),
]

SWAP_ROUTES = [
    case(
        "a route of one word",
        swap(route="omnipool"),
        says("route", "omnipool"),
    ),
    case(
        "a route through an unknown pool",
        swap(route="5>uniswap>0"),
        says("route[0].pool", "uniswap"),
    ),
    case(
        "a route through a pool without its id",
        swap(route="5>stableswap>0"),
        says("route[0].pool", "stableswap"),
    ),
    case(
        "a route from another asset",
        swap(route="10>omnipool>0"),
        says("route", "10", "5"),
    ),
    case(
        "a route to another asset",
        swap(route="5>omnipool>10"),
        says("route", "10", "0"),
    ),
    case(
        "hops that do not chain",
        swap(
            route='[{"pool": "Omnipool", "asset_in": 5, "asset_out": 1}, {"pool": "XYK", "asset_in": 2, "asset_out": 0}]'
        ),
        says("route[1]", "2"),
    ),
    case(
        "a route of more hops than the router takes",
        swap(route=">".join(["5", *["omnipool", "6", "omnipool", "5"] * 10])),
        says("route", "9"),
    ),
    case(
        "a route that is broken JSON",
        swap(route="[{"),
        says("route", "JSON", "1", "3"),
        "bad_json",
    ),
    case(
        "a route that is empty JSON",
        swap(route="[]"),
        says("route", "empty"),
    ),
]

ADDRESSES = [
    case(
        "an address with a wrong checksum",
        transfer(destinationaddress=BOB[:-1] + "4"),
        says("destinationaddress", "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf4"),
    ),
    case(
        "an EVM address",
        transfer(destinationaddress="0x" + "ab" * 20),
        says("destinationaddress", "0xabababababababababababababababababababab", "EVM", "20"),
    ),
    case(
        "a public key that is too short",
        transfer(destinationaddress="0x" + "ab" * 31),
        says("destinationaddress", "0xababababababababababababababababababababababababababababababab", "31"),
    ),
    case(
        "a public key of 33 bytes",
        transfer(destinationaddress="0x02" + "ab" * 32),
        says("destinationaddress", "0x02abababababababababababababababababab", "33"),
    ),
    case(
        "an address that is cut",
        transfer(destinationaddress=BOB[:20]),
        says("destinationaddress", "14E5nqKAp3oAJcmzgZhU"),
    ),
    case(
        "an address with a prefix that no network has",
        transfer(destinationaddress="zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
        says("destinationaddress", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
    ),
    case(
        "an empty address",
        transfer(destinationaddress=""),
        says("destinationaddress", "''", "SS58"),
    ),
    case(
        "letters that base58 has not",
        transfer(destinationaddress=BOB[:-1] + "O"),
        says("destinationaddress", "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVfO", "base58", "0"),
    ),
    case(
        "an address with a space",
        transfer(destinationaddress=BOB + " "),
        says("destinationaddress", "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"),
    ),
    case(
        "an address that is not hex",
        transfer(destinationaddress="0xBOB"),
        says("destinationaddress", "0xBOB"),
    ),
    case(
        "an address with an odd number of digits",
        transfer(destinationaddress=BOB_HEX[:-1]),
        says("destinationaddress", "0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a4"),
    ),
    case(
        "an address as long as a book",
        transfer(destinationaddress="1" * 100_000),
        says("destinationaddress", "1111111111111111111111111111111111111111"),
    ),
    case(
        "a name in place of an address",
        scenario(destination_address="bob"),
        says("destination_address", "bob"),
    ),
    case(
        "an address that no byte of UTF-8 spells",
        scenario(destination_address="\udc80"),
        says("destination_address", "\\udc80"),
    ),
    case(
        "a sender with a wrong checksum",
        payload(sender=BOB[:-1] + "4"),
        says("sender", "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf4"),
    ),
    case(
        "an EVM sender",
        payload(sender="0x" + "00" * 20),
        says("sender", "0x0000000000000000000000000000000000000000", "EVM", "20"),
    ),
]

TRANSACTIONS = [
    case(
        "hex of an odd number of digits",
        decode("0x000"),
        says("tx", "0x000"),
    ),
    case(
        "hex without 0x",
        decode("00071468656c6c6f"),
        says("tx", "00071468656c6c6f"),
    ),
    case(
        "no hex at all",
        decode("hello"),
        says("tx", "hello"),
    ),
    case("0x alone", decode("0x"), says("tx", "0x")),
    case("empty text", decode(""), says("tx", "''", "hex")),
    case(
        "hex with spaces",
        decode("0x00 07"),
        says("tx", "0x00 07"),
    ),
    case(
        "hex in full-width digits",
        decode("0x００"),
        says("tx", "0x００"),
    ),
    case(
        "a call that is cut",
        decode("0x00071468656c"),
        says("tx", "System.remark_with_event", "2", "5"),
    ),
    case(
        "a call with bytes after its end",
        decode("0x00071468656c6c6fff"),
        says("tx", "System.remark_with_event", "1"),
    ),
    case(
        "a call of another chain",
        decode("0x1e0b0000", "assetHub"),
        says("tx", "assetHub", "0x1e0b", "2003001"),
    ),
    case(
        "a pallet that is not there",
        decode("0xfe00"),
        says("tx", "0xfe00", "2000000", "254"),
    ),
    case(
        "a method that is not there",
        decode("0x00ff"),
        says("tx", "0x00ff", "2000000", "255"),
    ),
    case(
        "one byte",
        decode("0x00"),
        says("tx", "0x00"),
    ),
    case(
        "an extrinsic that is cut",
        decode("0x2004000714"),
        says("tx", "8", "0x2004"),
    ),
    case(
        "an extrinsic with a byte too much",
        decode("0x2404000714" + b"hello".hex() + "00"),
        says("tx", "9", "10", "ElectionProviderMultiPhase.governance_fallback"),
    ),
    case(
        "an extrinsic of an unknown version",
        decode("0x2006000714"),
        says("tx", "0x2006", "2000000", "32"),
    ),
    case(
        "a length that no chain could hold",
        decode("0x0007feffffff"),
        says("tx", "System.remark_with_event", "1073741823"),
    ),
    case(
        "random bytes",
        decode("0x" + "ff" * 40),
        says("tx", "0xffff", "2000000", "RcMigrator"),
    ),
    case("stdin that is empty", decode("-"), says("tx", "hex")),
    case(
        "stdin that is not text",
        decode("-"),
        says("tx", "UTF-8", "0"),
        files={"in": b"\xff\xfe"},
        stdin="in",
    ),
]

SIGNING = [
    case(
        "no sender",
        payload(sender=None),
        says("sender", "missing"),
    ),
    case(
        "no nonce",
        payload(nonce=None),
        says("polkadot", "--nonce"),
        "chain_unreachable",
    ),
    case(
        "a negative nonce",
        payload(nonce="-1"),
        says("nonce", "-1"),
    ),
    case(
        "a nonce above u32",
        payload(nonce="4294967296"),
        says("nonce", "4294967296"),
    ),
    case(
        "a nonce that is no number",
        payload(nonce="next"),
        says("nonce", "next"),
    ),
    case(
        "a nonce with a fraction",
        payload(nonce="0.5"),
        says("nonce", "0.5"),
    ),
    case(
        "an era that is no power of two",
        payload(era="65", block="100", block_hash="0x" + "11" * 32),
        says("era", "65"),
    ),
    case(
        "an era that is too short",
        payload(era="2", block="100", block_hash="0x" + "11" * 32),
        says("era", "2"),
    ),
    case(
        "an era that is too long",
        payload(era="131072", block="100", block_hash="0x" + "11" * 32),
        says("era", "131072"),
    ),
    case(
        "an era of a thousand digits",
        payload(era="6" * 1000, block="100", block_hash="0x" + "11" * 32),
        says("era", "6666666666666666666666666666666666666666666666666666666666"),
    ),
    case(
        "an era of words",
        payload(era="forever"),
        says("era", "forever"),
    ),
    case(
        "an era of other digits",
        payload(era="６４"),
        says("era", "６４"),
    ),
    case(
        "an era of broken hex",
        payload(era="0x450"),
        says("era", "0x450"),
    ),
    case(
        "an era of too many bytes",
        payload(era="0x450200"),
        says("era", "0x450200"),
    ),
    case(
        "an era whose phase is beyond its period",
        payload(era="0x5100"),
        says("era", "0x5100"),
    ),
    case(
        "a mortal era without its block",
        payload(era="64", block_hash="0x" + "11" * 32),
        says("block", "missing"),
    ),
    case(
        "a mortal era without its block's hash",
        payload(era="64", block="100"),
        says("block_hash", "missing"),
    ),
    case(
        "a mortal era with a negative block",
        payload(era="64", block="-1", block_hash="0x" + "11" * 32),
        says("block", "-1"),
    ),
    case(
        "a mortal era with a block beyond all",
        payload(era="64", block=str(2**65), block_hash="0x" + "11" * 32),
        says("block", "36893488147419103232"),
    ),
    case(
        "a block hash that is too short",
        payload(era="64", block="100", block_hash="0x11"),
        says("block_hash", "0x11"),
    ),
    case(
        "a block hash with an immortal era",
        payload(block_hash="0x" + "11" * 32),
        says("block_hash", "0x11111111111111111111111111111111111111111111111111111111"),
    ),
    case(
        "a block number with an immortal era",
        payload(block="100"),
        says("block", "100"),
    ),
    case("a negative tip", payload(tip="-1"), says("tip", "-1")),
    case(
        "a tip with a fraction",
        payload(tip="0.1"),
        says("tip", "0.1"),
    ),
    case(
        "a tip beyond u128",
        payload(tip=str(2**128)),
        says("tip", "340282366920938463463374607431768211456", "2^128"),
    ),
    case(
        "a metadata hash that is too short",
        payload(metadata_hash="0x1234"),
        says("metadata_hash", "0x1234"),
    ),
    case(
        "a metadata hash that is no hex",
        payload(metadata_hash="yes"),
        says("metadata_hash", "yes"),
    ),
    case(
        "a genesis that is no hash",
        payload(genesis="polkadot"),
        says("genesis", "polkadot"),
    ),
    case(
        "a payload of a signed transaction",
        payload(SIGNED),
        says("tx", "already"),
    ),
    case(
        "a payload of no transaction",
        payload("0xfe00"),
        says("tx", "0xfe00", "2000000", "254"),
    ),
    case(
        "an output format that there is not",
        transfer(output_format="json"),
        says("output_format", "json"),
    ),
    case(
        "an output format in capitals",
        transfer(output_format="CALL"),
        says("output_format", "CALL"),
    ),
    case(
        "a payload without its sender",
        transfer(output_format="payload"),
        says("sender", "missing"),
    ),
    case(
        "a swap in an unknown form",
        swap(output_format="hex"),
        says("output_format", "hex"),
    ),
]

IDS = [
    case("an unknown scenario", ("info", "abcdefghi"), says("scenario", "abcdefghi"), "not_found"),
    case(
        "an unknown scenario to show",
        ("scenario", "show", "abcdefghi"),
        says("scenario", "abcdefghi"),
        "not_found",
    ),
    case(
        "an unknown scenario to draft",
        ("--offline", "scenario", "full", "abcdefghi"),
        says("scenario", "abcdefghi"),
        "not_found",
    ),
    case(
        "an unknown scenario to export",
        ("scenario", "export", "abcdefghi"),
        says("scenario", "abcdefghi"),
        "not_found",
    ),
    case(
        "an unknown scenario to delete",
        ("scenario", "delete", "abcdefghi"),
        says("scenario", "abcdefghi"),
        "not_found",
    ),
    case("an empty id", ("info", ""), says("id", "''")),
    case(
        "an id with a slash",
        ("info", "../../etc/passwd"),
        says("id", "../../etc/passwd"),
    ),
    case(
        "an id as long as a book",
        ("scenario", "delete", "a" * 10_000),
        says("id", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ),
    case(
        "an id with SQL",
        ("scenario", "delete", "a'; DROP TABLE scenarios; --"),
        says("id", "DROP", "TABLE", "--"),
    ),
    case(
        "an id of an escape sequence",
        ("info", "\x1b[2Jabc"),
        says("id", "\\x1b[2Jabc"),
    ),
    case(
        "an id that no byte of UTF-8 spells",
        ("info", "\udcffabc"),
        says("id", "\\udcffabc"),
    ),
    case(
        "an id with a NUL",
        ("info", "abc\0def"),
        says("id", "abc\\x00def"),
    ),
    case(
        "a page of no size",
        ("scenario", "list", "--limit", "0"),
        says("limit", "0"),
    ),
    case(
        "a page too large",
        ("scenario", "list", "--limit", "1001"),
        says("limit", "1001"),
    ),
    case(
        "a page of words",
        ("scenario", "list", "--limit", "all"),
        says("limit", "all"),
    ),
    case(
        "a page of a thousand digits",
        ("scenario", "list", "--limit", "1" * 1000),
        says("limit", "1111111111111111111111111111111111111111111111111111111111"),
    ),
    case(
        "a page of a negative size",
        ("scenario", "list", "--limit", "-5"),
        says("limit", "-5"),
    ),
    case(
        "a cursor that is none",
        ("scenario", "list", "--after", "zzz"),
        says("after", "zzz"),
    ),
    case(
        "an order that scenarios have not",
        ("scenario", "list", "--sort", "price"),
        says("sort", "price"),
    ),
    case(
        "a search as long as a book",
        ("scenario", "list", "--search", "a" * 500),
        says("search", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ),
    case(
        "a search that no byte of UTF-8 spells",
        ("scenario", "list", "--search", "\udc80"),
        says("search", "\\udc80"),
    ),
    case(
        "an export in an unknown form",
        ("scenario", "export", "abcdefghi", "--as", "pdf"),
        says("as", "pdf"),
    ),
]

REMARKS = [
    case(
        "a remark without text",
        ("create", "remark", "--chain", "polkadot", "--text", ""),
        says("text", "empty"),
    ),
    case(
        "a remark that no byte of UTF-8 spells",
        ("create", "remark", "--chain", "polkadot", "--text", "\udc80"),
        says("remark", "\\udc80"),
    ),
    case(
        "a remark beyond a block",
        ("create", "remark", "--chain", "polkadot", "--text", "a" * (3 * 1024 * 1024 + 1)),
        says("remark", "3145729"),
    ),
    case(
        "a query without a method",
        ("create", "query", "--chain", "polkadot", "System"),
        says("METHOD", "missing"),
        usage="scenarioctl create query",
    ),
    case(
        "a query of an empty pallet",
        ("create", "query", "--chain", "polkadot", "", "Account"),
        says("pallet_name", "empty"),
    ),
    case(
        "a query at a block that is no block",
        ("create", "query", "--chain", "polkadot", "--block", "1.5", "System", "Number"),
        says("block", "1.5"),
    ),
    case(
        "a query at half a hash",
        ("create", "query", "--chain", "polkadot", "--block", "0x1234", "System", "Number"),
        says("block", "0x1234"),
    ),
]

IMPORTS = [
    case(
        "a file that is not there",
        ("scenario", "import", "missing.json"),
        says("source", "missing.json"),
        "not_found",
    ),
    case("a folder", ("scenario", "import", "."), says("source", "'.'")),
    case(
        "an empty name",
        ("scenario", "import", ""),
        says("source", "empty"),
    ),
    case(
        "a name with a NUL",
        ("scenario", "import", "a\0b.json"),
        says("source", "a\\x00b.json", "NUL"),
    ),
    imports("an empty file", says("diagram", "empty"), ""),
    imports("white space", says("diagram", "empty"), " \n\t "),
    imports("a file that is not text", says("source", "it.txt", "UTF-8", "0"), b"\xff\xfe\x00"),
    imports("broken JSON", says("diagram", "JSON", "12"), '{"nodes": [', "bad_json"),
    imports(
        "JSON with more behind it",
        says("diagram", "JSON", "1", "28"),
        '{"nodes": [], "edges": []} {}',
        "bad_json",
    ),
    imports("JSON of a list", says("diagram", "list"), "[]"),
    imports("JSON of a text", says("'diagram'", "object"), '"diagram"'),
    imports(
        "JSON without edges",
        says("diagram", "edges"),
        '{"nodes": []}',
    ),
    imports(
        "JSON without nodes",
        says("diagram", "nodes"),
        '{"edges": []}',
    ),
    imports(
        "nodes that are an object",
        says("diagram.nodes", "object", "list"),
        '{"nodes": {}, "edges": []}',
    ),
    imports("edges that are null", says("diagram.edges", "missing"), '{"nodes": [], "edges": null}'),
    imports(
        "a node that is a number", says("diagram.nodes[0] is 1", "object"), '{"nodes": [1], "edges": []}'
    ),
    imports(
        "a node without an id",
        says("diagram.nodes[0].id", "missing"),
        '{"nodes": [{"type": "chain"}], "edges": []}',
    ),
    imports(
        "a node with a number as its id",
        says("diagram.nodes[0].id", "7"),
        '{"nodes": [{"id": 7}], "edges": []}',
    ),
    imports(
        "a node with a list as its type",
        says("diagram.nodes[0].type", "list", "text"),
        '{"nodes": [{"id": "a", "type": []}], "edges": []}',
    ),
    imports(
        "a form that is a text",
        says("diagram.nodes[0].formData", "x"),
        '{"nodes": [{"id": "a", "formData": "x"}], "edges": []}',
    ),
    imports(
        "an edge without a target",
        says("diagram.edges[0].target", "missing"),
        '{"nodes": [{"id": "a"}], "edges": [{"source": "a"}]}',
    ),
    imports(
        "an edge that is a list",
        says("diagram.edges[0]", "list", "object"),
        '{"nodes": [], "edges": [[]]}',
    ),
    imports(
        "NaN in JSON",
        says("diagram", "NaN", "JSON"),
        '{"nodes": [], "edges": [], "x": NaN}',
        "bad_json",
    ),
    imports(
        "1e400 in JSON",
        says("diagram", "1e400"),
        '{"nodes": [], "edges": [], "x": 1e400}',
        "bad_json",
    ),
    imports(
        "a number that no double keeps",
        says("diagram", "0.12345678901234567891", "JSON"),
        '{"nodes": [], "edges": [], "x": 0.12345678901234567891}',
        "bad_json",
    ),
    imports(
        "a number of a hundred digits",
        says("diagram", "100", "80"),
        '{"nodes": [], "edges": [], "x": ' + "9" * 100 + "}",
        "bad_json",
    ),
    imports(
        "a key given twice",
        says("diagram", "nodes"),
        '{"nodes": [], "edges": [], "nodes": []}',
        "bad_json",
    ),
    imports(
        "half of a surrogate pair",
        says("diagram", "surrogate"),
        '{"nodes": [], "edges": [], "x": "\\ud800"}',
        "bad_json",
    ),
    imports(
        "lists a thousand deep",
        says("diagram", "100"),
        '{"nodes": [], "edges": [], "x": ' + "[" * 1000 + "]" * 1000 + "}",
    ),
    imports("lists a million deep", says("diagram", "250000"), "[" * 1_000_000, "too_large"),
    imports("lists of a thousand levels", says("diagram", "100"), "[" * 1000 + "]" * 1000),
    imports(
        "more nodes than a diagram may have",
        says("diagram", "10001", "10000"),
        '{"edges": [], "nodes": [' + ",".join(["0"] * 10_001) + "]}",
        "too_large",
    ),
    imports(
        "a diagram above 16 MiB",
        says("diagram", "16777216"),
        lambda: '{"nodes": [], "edges": [], "x": "' + "a" * TOO_LONG + '"}',
        "too_large",
    ),
    imports(
        "a diagram of 50 MB",
        says("source", "it.txt", "33554432"),
        lambda: b'{"nodes": [], "edges": [], "x": "' + b"a" * 50_000_000 + b'"}',
        "too_large",
    ),
    imports(
        "a share string that is not base64",
        says("diagram", "this is not base64, and it is no JSON either!"),
        "this is not base64, and it is no JSON either!",
    ),
    imports(
        "a share string of a wrong length",
        says("diagram", "eJxdjjEOgzAMRa+CPPcEzD0B6oYYrMQlEQGj4A4oyt3rBKoivFh+evr+CR", "base64"),
        HELLO.rstrip("=")[: len(HELLO) // 4 * 4 - 3],
    ),
    imports(
        "a share string that is cut",
        says("diagram", "eJxdjjEOgzAMRa+CPPcEzD0B6oYYrMQlEQGj4A4oyt3rBKoivFh+evr+CR"),
        HELLO[:-16],
    ),
    imports(
        "a share string with bytes after its end",
        says("diagram", "4 bytes"),
        base64.b64encode(base64.b64decode(HELLO) + b"more").decode(),
    ),
    imports(
        "a share string of no zlib stream",
        says("diagram", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eH"),
        base64.b64encode(b"x" * 60).decode(),
    ),
    imports(
        "a share string of broken JSON",
        says("diagram", "JSON", "12"),
        share('{"nodes": [}'),
        "bad_json",
    ),
    imports(
        "a share string of another shape",
        says("diagram", "nodes"),
        share('{"hello": "world"}'),
    ),
    imports(
        "a share string with a wrong checksum",
        says("diagram", "eJxdjjEOgzAMRa+CPPcEzD0B6oYYrMQlEQGj4A4oyt3rBKoivFh+evr+CR"),
        base64.b64encode(base64.b64decode(HELLO)[:-1] + b"\0").decode(),
    ),
    imports(
        "a zlib bomb",
        says("diagram", "16777216"),
        lambda: share(b" " * 64 * 1024 * 1024),
        "too_large",
    ),
    imports(
        "a link without a diagram",
        says("diagram", "empty"),
        "https://example.org/#/create/?diagramData=",
    ),
    imports(
        "a link to a stored scenario",
        says("diagram", "lnr8CfoQX"),
        "https://example.org/#/create/?diagramData=lnr8CfoQX",
    ),
    case(
        "a share string that is cut, on the line",
        ("scenario", "import", HELLO[:40]),
        says("diagram", "eJxdjjEOgzAMRa+CPPcEzD0B6oYYrMQlEQGj4A4o"),
    ),
    case(
        "stdin that is empty, imported",
        ("scenario", "import", "-"),
        says("diagram", "empty"),
    ),
]

DRAFTS = [
    full("an empty diagram", says("transaction"), diagram()),
    full(
        "an unknown type of node",
        says("transaction"),
        diagram({"id": "a", "type": "teleporter"}),
    ),
    full(
        "an action without a form",
        says("transaction"),
        diagram({"id": "a", "type": "action"}),
    ),
    full(
        "an unknown action",
        says("transaction"),
        diagram({"id": "a", "type": "action", "formData": {"action": "mint"}}),
    ),
    full(
        "a circle",
        says("'a' > 'b' > 'a'"),
        diagram(remark_node("a"), remark_node("b"), edges=[("a", "b"), ("b", "a")]),
    ),
    full(
        "a node that follows itself",
        says("'a' > 'a'"),
        diagram(remark_node("a"), edges=[("a", "a")]),
    ),
    full(
        "a circle of a hundred nodes",
        says("'n0' > 'n1' > 'n2' > 'n3'", "> 'n0'"),
        diagram(
            *(remark_node(f"n{n}") for n in range(100)),
            edges=[(f"n{n}", f"n{(n + 1) % 100}") for n in range(100)],
        ),
    ),
    full(
        "an id of two nodes",
        says("'a'", "used"),
        diagram(remark_node("a"), remark_node("a")),
    ),
    full(
        "an edge that comes from no node",
        says("'ghost'", "'a'"),
        diagram(remark_node("a"), edges=[("ghost", "a")]),
    ),
    full(
        "an edge that leads to no node",
        says("'a'", "'ghost'"),
        diagram(remark_node("a"), edges=[("a", "ghost")]),
    ),
    full(
        "a remark whose text is empty",
        says("Remark", "actionData.source.target"),
        diagram(remark_node(text="")),
    ),
    full(
        "an id with an escape sequence",
        says("node", "\\x1b[31m", "actionData.source.target"),
        diagram(remark_node("\x1b[31m", text=""), remark_node("b")),
    ),
    full(
        "a transfer without an amount",
        says("source.amount", "missing"),
        diagram(transfer_node(source_amount=None)),
    ),
    full(
        "a transfer of true",
        says("source.amount", "true"),
        diagram(transfer_node(source_amount=True)),
    ),
    full(
        "a transfer of an object",
        says("source.amount", "{'a': 1}"),
        diagram(transfer_node(source_amount={"a": 1})),
    ),
    full(
        "a transfer of a list of assets",
        says("source.assetId", "[0]"),
        diagram(transfer_node(source_assetId=[0])),
    ),
    full(
        "a transfer between two assets",
        says("source", "10", "1337", "USDT"),
        diagram(
            transfer_node(source_chain="hydraDx", source_assetId=10, source_symbol=None, target_assetId=1337)
        ),
    ),
    full(
        "a transfer with a symbol that contradicts",
        says("source.assetId", "1984", "assetHub", "USDt"),
        diagram(
            transfer_node(
                source_chain="assetHub", source_assetId=1984, source_symbol="DOT", target_chain="hydraDx"
            )
        ),
    ),
    full(
        "a transfer without a receiver",
        says("target.address", "missing"),
        diagram(transfer_node(target_address=None)),
    ),
    full(
        "a transfer from a number",
        says("source.chain", "7"),
        diagram(transfer_node(source_chain=7)),
    ),
    full(
        "a transfer to an unknown chain",
        says("target.chain", "mars"),
        diagram(transfer_node(target_chain="mars")),
    ),
    full(
        "a transfer with a source that is a text",
        says("actionData.source", "polkadot"),
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
        says("source.chain", "missing"),
        diagram({"id": "a", "type": "action", "formData": {"action": "xTransfer"}}),
    ),
    full(
        "a transaction that waits for a webhook",
        says("source.amount", "webhook"),
        diagram(transfer_node(source_amount="{{ amount }}")),
    ),
    full(
        "a chainTx of an unknown pallet",
        says("pallet", "Nope", "2000000"),
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
        says("method", "x", "2000000"),
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
        says("System.remark", "Vec<u8>"),
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
        says("Balances.transfer_keep_alive", "lots", "u128"),
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
        says("sender", "missing"),
        files={"it.json": diagram(remark_node())},
        imported="it.json",
    ),
    case(
        "a field that the answer has not",
        ("--offline", "scenario", "full", "{id}", "--field", "price"),
        says("field", "price"),
        files={"it.json": diagram(remark_node())},
        imported="it.json",
    ),
]

FLOWS = [
    flow(
        "TOML that does not read",
        says("TOML", "document"),
        "steps = [",
        "bad_json",
    ),
    flow("TOML of bytes", says("file", "flow.toml", "UTF-8", "0"), b"\xff\xfe", "invalid_request"),
    flow(
        "a flow without steps",
        says("flow", "steps"),
        'name = "x"',
    ),
    flow(
        "a flow with an empty list of steps",
        says("flow", "steps"),
        "steps = []",
    ),
    flow(
        "a flow with an unknown key",
        says("titel", "unknown"),
        'titel = "x"\nsteps = []',
    ),
    flow(
        "a flow whose name is a number",
        says("flow.name", "7"),
        'name = 7\n[[steps]]\ntype = "delay"\nseconds = 1',
    ),
    flow(
        "a step without a type",
        says("steps[0].type", "missing"),
        "[[steps]]\nseconds = 1",
    ),
    flow(
        "a step of an unknown type",
        says("steps[0].type", "teleport"),
        '[[steps]]\ntype = "teleport"',
    ),
    flow("a step that is a text", says("steps[0]", "delay"), 'steps = ["delay"]'),
    flow(
        "a step with an unknown key",
        says("steps[0]", "minutes"),
        '[[steps]]\ntype = "delay"\nseconds = 1\nminutes = 2',
    ),
    flow(
        "a step without its chain",
        says("steps[0].chain", "missing"),
        '[[steps]]\ntype = "Remark"\ntext = "hi"',
    ),
    flow(
        "a step with an unknown chain",
        says("steps[0].chain", "mars"),
        '[[steps]]\ntype = "Remark"\ntext = "hi"\nchain = "mars"',
    ),
    flow(
        "a step with a list as its text",
        says("steps[0].text", "list", "text"),
        '[[steps]]\ntype = "Remark"\ntext = [7]\nchain = "polkadot"',
    ),
    flow(
        "a delay of minus one",
        says("steps[0].seconds", "-1"),
        '[[steps]]\ntype = "delay"\nseconds = -1',
    ),
    flow(
        "a delay of nan",
        says("steps[0].seconds", "NaN"),
        '[[steps]]\ntype = "delay"\nseconds = nan',
    ),
    flow(
        "a delay of two days",
        says("steps[0].seconds", "172800"),
        '[[steps]]\ntype = "delay"\nseconds = 172800',
    ),
    flow(
        "a date for a text",
        says("steps[0].text", "date", "quotes"),
        '[[steps]]\ntype = "Remark"\nchain = "polkadot"\ntext = 2026-01-01',
    ),
    flow(
        "two steps of one id",
        says("steps[1].id", "a", "steps[0]"),
        '[[steps]]\ntype = "delay"\nid = "a"\nseconds = 1\n[[steps]]\ntype = "delay"\nid = "a"\nseconds = 1',
    ),
    flow(
        "a step after nothing",
        says("steps[0].after", "b"),
        '[[steps]]\ntype = "delay"\nid = "a"\nseconds = 1\nafter = ["b"]',
    ),
    flow(
        "steps that wait for each other",
        says("a > b > a", "cycle"),
        '[[steps]]\ntype = "delay"\nid = "a"\nseconds = 1\nafter = "b"\n[[steps]]\ntype = "delay"\nid = "b"\nseconds = 1\nafter = "a"',
    ),
    flow(
        "an address of another kind",
        says("steps[0].url", "file:///etc/passwd"),
        '[[steps]]\ntype = "http"\nurl = "file:///etc/passwd"',
    ),
    flow(
        "an address with a password",
        says("steps[0].url", "password"),
        '[[steps]]\ntype = "http"\nurl = "https://me:secret@example.org/"',
    ),
    flow(
        "a header with a line break",
        # The value may be a secret.
        says("steps[0].headers.X", "headers"),
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\nheaders = { X = "a\\nb" }',
    ),
    flow(
        "a header that is not the step's to write",
        says("steps[0].headers", "Host"),
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\nheaders = { Host = "b" }',
    ),
    flow(
        "a request that may take too long",
        says("steps[0].timeout", "301"),
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\ntimeout = 301',
    ),
    flow(
        "a request that is tried for ever",
        says("steps[0].retries", "-1"),
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\nretries = -1',
    ),
    flow(
        "a webhook that is waited for too long",
        says("steps[0].timeout", "86401"),
        '[[steps]]\ntype = "webhook"\nname = "a"\ntimeout = 86401',
    ),
    flow(
        "an unknown method",
        says("steps[0].method", "BREW"),
        '[[steps]]\ntype = "http"\nurl = "https://example.org/"\nmethod = "BREW"',
    ),
    flow(
        "a transfer that cannot be made",
        says("steps[0].assetid", "DOGE"),
        f'[[steps]]\ntype = "xTransfer"\nsource_chain = "polkadot"\ndest_chain = "assetHub"\nassetid = "DOGE"\namount = 1\ndestination_address = "{BOB}"',
    ),
    flow(
        "an amount that is true",
        says("steps[0].amount", "true"),
        f'[[steps]]\ntype = "xTransfer"\nsource_chain = "polkadot"\ndest_chain = "assetHub"\nassetid = "DOT"\namount = true\ndestination_address = "{BOB}"',
    ),
    flow(
        "a flow above 1 MiB",
        says("file", "flow.toml", "1048576"),
        "#" * (1024 * 1024 + 1),
        "too_large",
    ),
    case(
        "a flow file that is not there",
        ("create", "--file", "none.toml"),
        says("file", "none.toml"),
        "not_found",
    ),
    case(
        "a flow in an unknown syntax",
        ("create", "--file", "f", "--syntax", "yaml"),
        says("syntax", "yaml"),
        files={"f": ""},
    ),
    case(
        "a flow of broken JSON",
        ("create", "--file", "f.json"),
        says("JSON", "12"),
        "bad_json",
        files={"f.json": '{"steps": [,]}'},
    ),
    case(
        "a flow of a JSON list",
        ("create", "--file", "f.json"),
        says("flow", "list", "steps"),
        files={"f.json": "[]"},
    ),
    case(
        "a flow beside a command",
        ("create", "--file", "f.json", *scenario()[1:]),
        says("--file", "scenario"),
        files={"f.json": "[]"},
    ),
]

LINES = [
    case(
        "two amounts",
        (*scenario(), "--amount", "2"),
        says("amount", "1.5", "2"),
    ),
    case(
        "two destinations",
        (*transfer(), "--deschain", "hydraDx"),
        says("destchain", "assetHub", "hydraDx"),
    ),
    case(
        "two formats",
        (*transfer(output_format="call"), "--output-format", "extrinsic"),
        says("output_format", "call", "extrinsic"),
    ),
    case(
        "no destination",
        transfer(to=None),
        says("destchain", "missing"),
    ),
    case("no amount", scenario(amount=None), says("amount", "missing")),
    case("no asset", swap(assetout=None), says("assetout", "missing")),
    case("no chain", ("tx", "decode", "0x00"), says("chain", "missing")),
    case(
        "no transaction",
        ("tx", "decode", "--chain", "polkadot"),
        says("HEX", "missing"),
        usage="scenarioctl tx decode",
    ),
    case("no metadata", ("contract", "info", BOB), says("abi", "missing")),
    case("no id", ("info",), says("ID", "missing"), usage="scenarioctl info"),
    case(
        "an id too many",
        ("info", "abcdefghi", "jklmnopqr"),
        says("jklmnopqr"),
        usage="scenarioctl info",
    ),
    case(
        "an unknown command",
        ("frobnicate",),
        says("command", "frobnicate", *COMMANDS),
        usage="scenarioctl",
    ),
    case(
        "a mistyped command",
        ("scenaro", "list"),
        says("scenaro", "scenario"),
        usage="scenarioctl",
    ),
    case(
        "a mistyped command below",
        ("scenario", "lst"),
        says("lst", "list"),
        usage="scenarioctl scenario",
    ),
    case(
        "an unknown option",
        ("scenario", "list", "--size", "7"),
        says("--size"),
        usage="scenarioctl scenario list",
    ),
    case(
        "an option that only looks like a confirmation",
        ("xcm", "asset-transfer", "--dest", BOB),
        says("--destchain", "destchain"),
        usage="scenarioctl xcm asset-transfer",
    ),
    case(
        "a mistyped option",
        (*transfer(amount=None), "--amout", "1"),
        says("--amout", "--amount"),
        usage="scenarioctl xcm asset-transfer",
    ),
    case(
        "a value for a switch",
        ("--offline=maybe", "chain", "list"),
        says("--offline", "value"),
    ),
    case(
        "nothing to create",
        ("create", "--check"),
        says("create", "--file"),
        usage="scenarioctl create",
    ),
    case(
        "an option that is an escape sequence",
        ("chain", "list", "--\x1b[31m"),
        says("--\\x1b[31m", "option"),
        usage="scenarioctl chain list",
    ),
    case(
        "a command that is an escape sequence",
        ("\x1b[31m",),
        says("command", "\\x1b[31m", *COMMANDS),
        usage="scenarioctl",
    ),
]

SETTINGS = [
    config(
        "TOML that does not read, in the settings",
        says("config", "c.toml", "TOML", "1"),
        "offline = = true",
    ),
    config("settings of bytes", says("config", "c.toml", "UTF-8", "0"), b"\xff\xfe"),
    config(
        "an unknown setting in the file",
        says("config", "c.toml", "stor"),
        'stor = "x"',
    ),
    config(
        "a switch that is a text",
        says("offline", "maybe", "config.toml"),
        'offline = "maybe"',
    ),
    config(
        "a switch that is a number",
        says("offline", "7", "config.toml"),
        "offline = 7",
    ),
    config(
        "a path that is a number",
        says("store", "7", "config.toml"),
        "store = 7",
    ),
    config(
        "an empty path",
        says("store", "''", "config.toml"),
        'store = ""',
    ),
    config(
        "chains that are a list",
        says("c.toml", "chains", "table"),
        "chains = []",
    ),
    config(
        "a chain that is a text",
        says("chains.rig", "x"),
        '[chains]\nrig = "x"',
    ),
    config(
        "a chain without a role",
        says("chains.rig.role", "missing"),
        '[chains.rig]\nsymbol = "UNIT"\ndecimals = 12',
    ),
    config(
        "a chain of an unknown role",
        says("chains.rig.role", "king"),
        '[chains.rig]\nrole = "king"\nsymbol = "UNIT"\ndecimals = 12',
    ),
    config(
        "a chain with an unknown key",
        says("chains.rig", "color"),
        '[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\ncolor = "red"',
    ),
    config(
        "a chain whose relay is not there",
        says("chains.rig.relay", "moon"),
        '[chains.rig]\nrole = "asset_hub"\nsymbol = "UNIT"\ndecimals = 12\npara_id = 1000\nrelay = "moon"',
    ),
    config(
        "a chain with a wrong endpoint",
        says("chains.rig.endpoints", "http://x"),
        '[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\nendpoints = ["http://x"]',
    ),
    config(
        "a chain with a wrong genesis",
        says("chains.rig.genesis", "0x12"),
        '[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\ngenesis = "0x12"',
    ),
    config(
        "a built-in chain made another",
        says("chains.polkadot.decimals", "polkadot"),
        "[chains.polkadot]\ndecimals = 3",
    ),
    config(
        "an asset without decimals",
        says("chains.rig.assets.decimals", "missing"),
        '[[chains.rig.assets]]\nid = 1\nsymbol = "X"\n[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12',
        scenario(source_chain="rig", dest_chain="rig"),
    ),
    case(
        "settings that are not there",
        ("--config", "none.toml", "chain", "list"),
        says("config", "none.toml"),
    ),
    case(
        "settings with a NUL",
        ("--config", "a\0b", "chain", "list"),
        says("config", "a\\x00b", "NUL"),
    ),
    case(
        "settings of a name too long",
        ("--config", "a" * 5000, "config", "init"),
        says("config", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ),
    case(
        "settings below a file",
        ("--config", "c.toml/c.toml", "config", "init"),
        says("config", "c.toml/c.toml"),
        files={"c.toml": ""},
    ),
    case(
        "settings of bytes, set",
        ("--config", "c.toml", "config", "set", "offline", "true"),
        says("config", "c.toml", "UTF-8", "0"),
        files={"c.toml": b"\xff"},
    ),
    case(
        "a flow of a name too long",
        ("create", "--file", "a" * 5000),
        says("file", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ),
    case(
        "a share string on the line that is long",
        ("scenario", "import", "a" * 5000),
        says("diagram", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ),
    case(
        "settings that are a folder",
        ("--config", ".", "chain", "list"),
        says("config", "'.'"),
    ),
    case(
        "an unknown setting",
        ("config", "set", "colour", "red"),
        says("key", "colour"),
    ),
    case(
        "a switch set to a text",
        ("config", "set", "offline", "perhaps"),
        says("offline", "perhaps"),
    ),
    case(
        "a store set to nothing",
        ("config", "set", "store", ""),
        says("store", "''", "path"),
    ),
    case(
        "half of a chain's setting",
        ("config", "set", "chains.rig", "x"),
        says("key", "chains.rig"),
    ),
    case(
        "a chain set to what it cannot be",
        ("config", "set", "chains.rig.role", "king"),
        says("chains.rig.symbol", "missing"),
    ),
    case(
        "settings that are there already",
        ("--config", "c.toml", "config", "init"),
        says("config", "c.toml"),
        "conflict",
        files={"c.toml": ""},
    ),
]

STORES = [
    case(
        "a store that is a folder",
        ("--store", ".", "scenario", "list"),
        says("store", "{folder}"),
        "store_failed",
    ),
    case(
        "a store that is not a database",
        ("--store", "s.db", "scenario", "list"),
        says("store", "{folder}/s.db"),
        "store_failed",
        files={"s.db": "hello, I am text\n" * 100},
    ),
    case(
        "a store below a file",
        ("--store", "file/s.db", "scenario", "list"),
        says("store", "{folder}/file/s.db"),
        "store_failed",
        files={"file": ""},
    ),
    case(
        "a store that is a URL",
        ("--store", "mysql://me:secret@db/x", "scenario", "list"),
        says("store", "mysql://…", "URL"),
    ),
    case(
        "a store on the command line with a password",
        ("--store", "postgresql://me:secret@db/x", "scenario", "list"),
        says("--store", "postgresql://me:…@db/x", "~/.pgpass", "SCENARIOCTL_STORE"),
    ),
    case(
        "a store to copy with a password",
        ("store", "copy", "s.db", "postgresql://me@db/x?password=secret"),
        says("TO", "postgresql://me@db/x", "~/.pgpass", "service"),
    ),
    case(
        "a store with a password to write to config.toml",
        ("config", "set", "store_listen", "postgresql://me:secret@db/x"),
        says("store_listen", "postgresql://me:…@db/x", "~/.pgpass", "config.toml"),
    ),
    case(
        "a store with a NUL",
        ("--store", "a\0b", "scenario", "list"),
        says("store", "a\\x00b", "NUL"),
    ),
    case(
        "a store where nothing can be made",
        ("--store", "/proc/s.db", "create", "remark", "--chain", "polkadot", "--text", "hi"),
        says("store", "/proc/s.db"),
        "store_failed",
    ),
    case(
        "an empty store name",
        ("--store", "", "scenario", "list"),
        says("store", "''", "path"),
    ),
]

CONTRACTS = [
    abi(
        "metadata of version 1",
        says("abiJson", "metadataVersion", "0.1.0"),
        {"metadataVersion": "0.1.0", "spec": {}},
    ),
    abi(
        "metadata under V1",
        says("abiJson", "V1"),
        {"V1": {"spec": {}}},
    ),
    abi(
        "metadata of version 7",
        says("abiJson", "7"),
        {"version": 7},
    ),
    abi(
        "metadata of a version in words",
        says("abiJson", "six"),
        {"version": "six"},
    ),
    abi(
        "metadata without a version",
        says("abiJson", "version"),
        {"spec": {}},
    ),
    abi("metadata that is a list", says("abiJson", "list", "object"), []),
    abi("metadata without a spec", says("abiJson", "spec"), {"version": 5, "types": []}),
    abi(
        "metadata without types",
        says("abiJson", "types"),
        {"version": 5, "spec": V5_ABI["spec"]},
    ),
    abi(
        "metadata without messages",
        says("abiJson", "messages"),
        {"version": 5, "types": [], "spec": {}},
    ),
    abi(
        "metadata with no message in its list",
        says("abiJson", "empty"),
        {"version": 5, "types": [], "spec": {"messages": []}},
    ),
    abi(
        "a message that is null",
        says("abiJson", "1", "null"),
        {"version": 5, "types": [], "spec": {"messages": [None]}},
    ),
    abi(
        "a message without a label",
        says("abiJson", "1", "label"),
        {"version": 5, "types": [], "spec": {"messages": [{}]}},
    ),
    abi(
        "a message with a label that is an escape sequence",
        says("abiJson", "\\x1b[31m"),
        message(label="\x1b[31m"),
    ),
    abi(
        "a message with a short selector",
        says("abiJson", "get", "0x01"),
        message(selector="0x01"),
    ),
    abi(
        "a message that may mutate or not",
        says("abiJson", "1", "get", "yes"),
        message(mutates="yes"),
    ),
    abi(
        "a message with an argument of no type",
        says("abiJson", "1", "'get'", "'x'", "type"),
        message(args=[{"label": "x"}]),
    ),
    abi(
        "a message with an argument of a type that is not there",
        says("abiJson", "1", "'get'", "'x'", "99"),
        message(args=[{"label": "x", "type": {"type": 99}}]),
    ),
    abi(
        "a type that holds itself",
        says("abiJson", "1", "get", "x"),
        {
            **message(args=[{"label": "x", "type": {"type": 0}}]),
            "types": [{"id": 0, "type": {"def": {"sequence": {"type": 0}}}}],
        },
    ),
    abi(
        "metadata that is broken JSON",
        says("abi", "JSON", "15"),
        '{"version": 5,',
    ),
    case(
        "metadata that is no text",
        ("contract", "info", "--abi", "abi.json", BOB),
        says("abi.json", "UTF-8", "0"),
        files={"abi.json": b"\xff"},
    ),
    abi(
        "a contract's address with a wrong checksum",
        says("address", "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf4"),
        V5_ABI,
        BOB[:-1] + "4",
    ),
    abi(
        "an EVM address of a contract of version 5",
        says("address", "0xabababababababababababababababababababab", "EVM", "20"),
        V5_ABI,
        "0x" + "ab" * 20,
    ),
    abi(
        "an SS58 address of a contract of version 6",
        says("address", "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"),
        {**V5_ABI, "version": 6},
    ),
    case(
        "metadata that is not there",
        ("contract", "info", "--abi", "none.json", BOB),
        says("abi", "none.json"),
        "not_found",
    ),
    case(
        "metadata beyond all size",
        ("contract", "info", "--abi", "abi.json", BOB),
        says("abi.json", "16777216"),
        "too_large",
        files={"abi.json": lambda: b" " * TOO_LONG},
    ),
    case(
        "a contract on an unknown chain",
        ("contract", "info", "--abi", "abi.json", BOB, "--chain", "mars"),
        says("chain", "mars"),
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


@pytest.mark.parametrize(("line", "error", "code", "files", "stdin", "imported", "usage", "confirm"), TABLE)
def test_bad_input_is_refused_in_one_sentence(
    scenarioctl: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: Line,
    error: Says,
    code: str,
    files: Files,
    stdin: str,
    imported: str,
    usage: str,
    confirm: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, made in files.items():
        text = made() if callable(made) else made
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    scenario_id = scenarioctl("scenario", "import", imported).out.strip() if imported else ""
    words = [word.replace("{id}", scenario_id) for word in line]
    standard_input = Path(stdin) if stdin else None
    before = content(tmp_path), count_stored()

    as_json = scenarioctl(*words, "--json", stdin=standard_input)
    plain = scenarioctl(*words, stdin=standard_input)

    answer = json.loads(as_json.out)
    said = answer["error"]
    assert said.replace(str(tmp_path), "{folder}") == error
    also = {"confirm": "yes"} if confirm else {}
    assert refused(answer) == {**flag_of(words), **also, "error": said, "code": code}
    # On stderr too, for scripts that read stdout.
    assert (as_json.err, as_json.code) == (as_json.out, EXITS[code])
    hint = f"Try '{usage} --help'.\n" if usage else ""
    assert plain.err == f"Error: {said}\n{hint}"
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
        assert refused(json.loads(ended.out)) == {**flag_of(line), "error": said, "code": code}
        assert (ended.err, ended.code) == (ended.out, 2)
    assert scenarioctl("info", scenario_id).out == "polkadot > Remark\n"


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (
            "PRAGMA user_version = 99",
            f"store '{{store}}' was written by a newer scenarioctl (store version 99, this one knows {len(MIGRATIONS)}): "
            "upgrade scenarioctl, or name another store",
        ),
        (
            "PRAGMA application_id = 7",
            "store '{store}' is a database of another program; name another file",
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

    assert ended.err == f"Error: store '{store_path()}' is out of disk space; nothing was changed\n"
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
        {"node": "", "problem": "the edge from 'c' to 'ghost' leads to a missing node: 'ghost'"},
        {"node": "b", "problem": "the edges form a cycle: 'b' > 'c' > 'b'"},
        {
            "node": "a",
            "problem": "unknown node type 'teleporter', skipped in runs; expected one of: "
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


#: What goes on until somebody ends it: `daemon`, `job watch`, and `job logs --follow`.
ENDLESS = {"daemon", "job watch", "follow"}


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

    assert ended.code in {0, 2, 3, 4, 5, 6, 7}, (line, ended)
    assert "Traceback" not in ended.out + ended.err
    if (
        "doctor" in line
        and ended.code in {2, 5}
        and not any(text in ended.out + ended.err for text in ("Error: ", '"error": '))
    ):
        # What is broken is its answer.
        return
    if ended.code and "--json" in line:
        answer = json.loads(ended.out)
        assert refused(answer).keys() - {"success", "sucess", "warnings"} == {"error", "code"}
    elif ended.code:
        assert ended.out == ""
        said = ended.err.splitlines()
        # Before the error, `--verbose` says what took how long, and `--strict` shows notes.
        places = [place for place, text in enumerate(said) if text.startswith("Error: ")]
        assert len(places) == 1
        assert places == [0] or {"-v", "--verbose", "--strict"} & set(line)
        assert len(said) - places[0] <= 2
        assert ended.err.replace("\n", "").isprintable()


def randomly(count: int, *, derandomize: bool) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=derandomize,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@randomly(examples(800), derandomize=True)
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
