"""The fault table of nodes: whatever one answers, a command ends with a sentence, hands nothing
wrong out and sends nothing twice.

Each fault is put in place of the answer to each method that a command asks, one after the other.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.model.calls import Call
from tests import canned, pool, test_broadcast
from tests.canned import ALICE, ALICE_KEY, account_info, blake2_128_concat, opaque, prefix
from tests.conftest import BOB, DATA, Run
from tests.node import Gone, Last, Node, Refusal, Silent
from tests.runtimes import bundled

pytestmark = pytest.mark.processes

Answers = Mapping[str, Any]

FAULTS: dict[str, Any] = {
    "null": None,
    "a number": 7,
    "a number of 41 digits": 10**40,
    "text": "busy",
    "no hex": "0xzz",
    "bytes of another length": "0x" + "ff" * 70,
    "a megabyte": "0x" + "01" * 2**20,
    "an empty list": [],
    "an object of other things": {"number": None, "specName": 5, "specVersion": "x", "block": [],
        "extrinsics": 7},
    "numbers that are none": {"number": "0xzz", "specName": "polkadot", "specVersion": 2**70},
    "an error": Refusal(-32603, "Internal error"),
    "an error with an escape sequence": Refusal(-32000, "\x1b[31mred\n\nError: yes"),
    "a cut": Gone("killed"),
    "null and a farewell": Last(None),
}  # fmt: skip


def relay() -> Answers:
    account = prefix("System", "Account") + blake2_128_concat(ALICE_KEY)
    version = bundled("polkadot").api_method("Core", "version").output_type
    told = (
        "0x"
        + bundled("polkadot")
        .encode(version, bundled("polkadot").constant("System", "Version"))
        .hex()
    )
    return canned.answers(
        "polkadot",
        {account: account_info(10**12, 3)},
        chain_getFinalizedHead=canned.HEAD,
        state_call=lambda *_: told,
    )


def older_relay() -> Answers:
    """Return a relay chain whose runtime is not known here."""
    metadata = opaque((DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes())
    return canned.answers(
        "polkadot",
        state_getRuntimeVersion={"specName": "polkadot", "specVersion": 1006000},
        state_call=lambda _, version: metadata if version == "0x0f000000" else "0x00",
    )


def exchange() -> Answers:
    return pool.Chain(pool.pool(pool.fees(pool.HDX, 3000, 700, 990))).answers()


REMARK = "0x" + bundled("polkadot").encode_call(
    Call(pallet="System", method="remark_with_event", args={"remark": b"hello"})
).hex()  # fmt: skip
TRANSFER = ("--from", "polkadot", "--to", "assetHub", "--assetid", "DOT", "--amount", "12345678900")
SWAP = ("--assetin", "DOT", "--assetout", "HDX", "--amount", "2")

#: What is asked -> chain, its node, and the command.
COMMANDS: dict[str, tuple[str, Callable[[], Answers], tuple[str, ...]]] = {
    "a value": ("polkadot", relay, ("query", "polkadot", "System", "Account", ALICE)),
    "a map": ("polkadot", relay, ("query", "polkadot", "System", "Account")),
    "a value at a block": ("polkadot", relay, ("query", "polkadot", "System", "Account", ALICE,
        "--block", "5")),
    "a runtime API": ("polkadot", relay, ("query", "polkadot", "Core", "version")),
    "channels": ("polkadot", relay, ("hrmp", "openchannels", "polkadot", "2034")),
    "a transfer": ("polkadot", relay, ("xcm", "asset-transfer", *TRANSFER, "--destinationaddress",
        BOB)),
    "a payload": ("polkadot", relay, ("tx", "payload", REMARK, "--chain", "polkadot", "--sender",
        ALICE)),
    "a table of a runtime": ("polkadot", older_relay, ("chain", "refresh", "polkadot")),
    "a quote": ("hydraDx", exchange, ("quote", *SWAP)),
    "a swap": ("hydraDx", exchange, ("create", "swap", *SWAP)),
    "a broadcast": ("polkadot", test_broadcast.answers, ("broadcast", "polkadot",
        test_broadcast.GOOD)),
    "a broadcast that is followed": (
        "polkadot",
        test_broadcast.answers,
        ("broadcast", "polkadot", test_broadcast.GOOD, "--wait", "finalized", "--timeout", "1"),
    ),
}  # fmt: skip
#: (command, method) whose answer is not needed, or is rightly believed whatever it is.
UNNEEDED = {
    ("a broadcast", "author_submitExtrinsic"),
    ("a broadcast that is followed", "author_unwatchExtrinsic"),
}
#: What is not waited for, in what follows a transaction: the rest of a second.
ENDED_AT_ONCE = {
    "null",
    *(name for name, fault in FAULTS.items() if isinstance(fault, (Exception, Last))),
}
#: Answers that say something: nothing is stored there, nobody is.
MEANT = {
    ("state_getStorage", "null"),
    ("state_getStorage", "null and a farewell"),
    ("state_getKeysPaged", "an empty list"),
    ("state_getStorage", "a zero byte"),
}


def configure(folder: Path, chain: str, url: str) -> str:
    path = folder / "config.toml"
    document = {
        "store": str(folder / "scenarios.db"),
        "cache": str(folder / "cache"),
        "chains": {chain: {"endpoints": [url]}},
    }
    path.write_text(tomli_w.dumps(document))
    return str(path)


def patient(line: tuple[str, ...]) -> Iterator[str]:
    """Give *line* with time enough for a node that answers."""
    for before, word in pairwise(("", *line)):
        yield "60" if before == "--timeout" else word


def giving(fault: Any) -> Callable[..., Any]:
    def answer(*_: Any) -> Any:
        if isinstance(fault, Exception):
            raise fault
        return fault

    return answer


@pytest.fixture(scope="module")
def methods() -> dict[str, list[str]]:
    """Return what each command has asked a good node for, once it was seen."""
    return {}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_answer_of_a_node_is_a_bug_here(
    scenarioctl: Run, tmp_path: Path, methods: dict[str, list[str]], command: str, fault: str
) -> None:
    chain, make, line = COMMANDS[command]
    if command not in methods:
        with Node(make()) as node:
            good = scenarioctl(
                "--config", configure(tmp_path, chain, node.url), "--json", *patient(line)
            )
            assert good.code == 0, good
            methods[command] = list(dict.fromkeys(node.asked))

    for number, method in enumerate(methods[command]):
        if method == "author_submitAndWatchExtrinsic" and fault not in ENDED_AT_ONCE:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        with Node({**make(), method: giving(FAULTS[fault])}) as node:
            ended = scenarioctl("--config", configure(folder, chain, node.url), "--json", *line)

        where = (method, ended)
        sent = sum(asked.startswith("author_submit") for asked in node.asked)
        assert sent <= 1, where
        assert "Traceback" not in ended.err, where
        assert "\x1b" not in ended.out + ended.err, where
        assert ended.code != 1, where
        answer = json.loads(ended.out)
        if ((command, method) in UNNEEDED and ended.code == 0) or (method, fault) in MEANT:
            continue
        # That it cannot be reached, or what it said against it: neither a bug nor the user's
        # mistake.
        assert ended.code in {5, 6}, where
        assert answer["code"] == {5: "chain_unreachable", 6: "chain_refused"}[ended.code], where
        assert len(answer["error"]) < 700, where
        assert "\n" not in answer["error"], where


def test_a_node_that_says_nothing_is_not_waited_for_without_end(
    scenarioctl: Run, tmp_path: Path
) -> None:
    """`test_silence.py` tells how long each kind of question is waited for."""
    with Node({"chain_getBlockHash": giving(Silent())}) as node:
        ended = scenarioctl(
            "--config",
            configure(tmp_path, "polkadot", node.url),
            "query",
            "polkadot",
            "System",
            "Number",
        )

    assert (ended.out, ended.code) == ("", 5)
