"""The reference signer with a daemon that lies, a node that is late, and a key that something else
uses too."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarioctl.transactions.extrinsic import bare_extrinsic, encode_era
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from tests.signer_desk import (
    DOT,
    GENESIS,
    TABLE,
    Desk,
    Jobs,
    chain,
    draft,
    remark,
    rule,
    signer,
    transfer,
)
from tests.signing import dev_key

#: 4 DOT at a time, 10 a day, and remarks.
POLICY: dict[str, Any] = {
    "max_transactions_per_day": 8,
    "allow": [
        *rule(max="4", max_per_day="10")["allow"],
        {"chain": "polkadot", "kind": "remark"},
    ],
}
BROADCAST = "/api/chain/Broadcast"


class LyingDaemon(Jobs):
    """A daemon that also answers what a signer should do itself. `replace` is what it makes of an
    assembled transaction."""

    replace: Callable[[str], str] = staticmethod(lambda tx: tx)

    def ask(self, path: str, **fields: Any) -> Any:
        if path == "/api/tx/payload":
            (row, *_) = [row for row in self.drafts if row["seq"] == fields["draft"]]
            made = signing_payload(
                TABLE,
                chain.call_of(row["tx"]),
                SigningOptions(
                    nonce=fields["nonce"],
                    era=encode_era(64, fields["block"]),
                    block_hash=fields["block"].to_bytes(32, "big"),
                    genesis_hash=bytes.fromhex(GENESIS[2:]),
                ),
            )
            self.made = chain.call_of(row["tx"]), made.extra
            return {
                "payload": "0x" + made.payload.hex(),
                "signer_payload": {"metadataHash": "5a" * 33},
            }
        if path == "/api/tx/assemble":
            call, extra = self.made
            tx = encode_signed_extrinsic(
                TABLE, call, extra, account=dev_key().public_key, scheme="sr25519",
                signature=bytes.fromhex(fields["signature"][2:]),
            )  # fmt: skip
            return {"tx": self.replace("0x" + tx.hex())}
        return super().ask(path, **fields)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, LyingDaemon, **POLICY)
    yield made
    made.signer.journal.close()


# What counts


def test_a_daemon_that_assembles_another_transaction_gets_no_more_than_a_day(desk: Desk) -> None:
    def replace(tx: str) -> str:
        desk.ledger.include(tx)
        return "0xf00d"

    def broadcast(tx: str, **_: Any) -> None:
        if tx == "0xf00d" or desk.ledger.include(tx):
            raise chain.Refused("its nonce is used")

    assert isinstance(desk.daemon, LyingDaemon)
    desk.daemon.replace, desk.daemon.broadcast = replace, broadcast
    desk.daemon.drafts = [draft(number, transfer(4 * DOT)) for number in range(1, 9)]

    desk.look(20)

    assert desk.ledger.paid == 8 * DOT


def test_a_transaction_that_is_included_in_other_bytes_counts(desk: Desk) -> None:
    def include(tx: str, **_: Any) -> None:
        desk.ledger.include(tx)
        desk.ledger.blocks[-1] = ["0xf00d"]

    desk.daemon.broadcast = include
    desk.daemon.drafts = [draft(number, transfer(4 * DOT)) for number in range(1, 5)]

    desk.look(20)

    assert desk.events(1) == ["intent", "signed", "replaced"]
    assert (desk.ledger.paid, desk.events(3)) == (8 * DOT, ["refused"])


def test_a_line_of_the_journal_is_not_replaced(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1, transfer(4 * DOT))]
    desk.look()
    before = desk.policy.journal.read_bytes()

    with pytest.raises(ValueError, match="draft 1 is there already"):
        desk.signer.journal.write(event="refused", seq=1, job="abc", why="")
    unchanged = desk.policy.journal.read_bytes()
    desk.signer.journal.write(event="outcome", seq=1, status="expired", what="", amount="0")

    assert unchanged == before
    assert desk.signer.journal.spent("polkadot", "native") == 4 * DOT


# Fees


def test_a_fee_above_the_limit_is_refused(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1, remark(2_000))]

    desk.look()

    assert desk.lines(1)[0]["why"].endswith(" is more than max_fee (1000000000)")


@pytest.mark.parametrize(
    "answer",
    [
        chain.NodeError("Method not found", -32601),
        None,
        "0x",
        "nonsense",
        "0x" + "00" * 18,
        "0x" + "00" * 36,
        {"partialFee": "1"},
    ],
    ids=str,
)
def test_a_fee_that_the_node_does_not_tell_is_refused(desk: Desk, answer: Any) -> None:
    desk.node.answers["state_call"] = answer
    desk.daemon.drafts = [draft(1)]

    desk.look()

    assert desk.lines(1)[0]["why"].startswith("its fee is unknown: ")
    assert desk.ledger.calls == []


# A list of drafts that isn't one


#: Deeper than `repr` goes on some versions of Python, not than a parser of JSON.
DEEP: Any = []
for _ in range(900):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"chain": None}, "its chain and its transaction are not text"),
        ({"chain": ["polkadot"]}, "its chain and its transaction are not text"),
        ({"chain": "Polkadot"}, "Polkadot is not a chain of the policy"),
        ({"tx": 5}, "its chain and its transaction are not text"),
        ({"tx": {"call": "0x"}}, "its chain and its transaction are not text"),
        ({"tx": ""}, "the draft is not an unsigned extrinsic"),
        ({"spec_version": "1002005"}, "it is not a transaction: 0x"),
        ({"spec_version": None}, "it is not a transaction: 0x"),
        ({"state": None}, "its state is not text"),
        ({"state": DEEP}, "its state is not text"),
        ({"state": "x" * 9000}, "it is xxx"),
        ({"tx": "0x" + "ff" * 9000}, "the draft is not an unsigned extrinsic"),
        (
            {"tx": "0x" + bare_extrinsic(b"\xff" * 300).hex()},
            "the runtime 1002005 of your node doesn't read the call",
        ),
    ],
    ids=lambda _: None,
)
def test_a_draft_that_is_not_as_described_is_refused(desk: Desk, changes: Any, why: str) -> None:
    desk.daemon.drafts = [draft(1, **changes)]

    desk.look()
    desk.restart()

    assert desk.events() == ["refused"]
    assert desk.lines()[0]["why"].startswith(why)
    assert len(desk.lines()[0]["why"]) <= 500


# Sending


@pytest.mark.parametrize("sent", [True, False])
def test_a_nonce_that_something_else_used_is_told(
    desk: Desk, capsys: pytest.CaptureFixture[str], sent: bool
) -> None:
    desk.daemon.fails[BROADCAST] = chain.Refused("no")
    desk.node.answers["author_submitExtrinsic"] = chain.NodeError("no", 1010)
    desk.daemon.drafts = [draft(1, transfer(4 * DOT))]
    desk.look(1)
    desk.ledger.spend()
    desk.daemon.fails, desk.node.answers = {}, {}
    if not sent:
        lines = desk.policy.journal.read_bytes().splitlines(keepends=True)
        desk.policy.journal.write_bytes(b"".join(lines[:-1]))
    desk.daemon.drafts.append(draft(2, transfer(4 * DOT)))

    desk.restart()
    desk.look()

    assert desk.events()[-1] == "replaced"
    assert "abc/1: replaced: another transaction has its nonce 0" in capsys.readouterr().err
    assert (desk.lines(2)[0]["nonce"], desk.ledger.paid) == (1, 4 * DOT)
    assert desk.signer.journal.spent("polkadot", "native") == 8 * DOT


def test_a_transaction_is_given_up_only_once_no_block_can_have_it(desk: Desk) -> None:
    desk.daemon.fails[BROADCAST] = chain.Refused("no")
    desk.node.answers["author_submitExtrinsic"] = chain.NodeError("no", 1010)
    desk.daemon.drafts = [draft(1), draft(2)]

    desk.look(1)
    desk.ledger.grow(64)
    desk.look()
    waiting = desk.events(), desk.events(2)
    desk.ledger.grow(1)
    desk.node.answers = {}
    desk.look()

    assert waiting == (["intent", "signed"], [])
    assert desk.events() == ["intent", "signed", "expired"]
    # No block has the nonce of the first one.
    assert (desk.lines(2)[0]["nonce"], desk.ledger.paid) == (0, DOT)


# Over the wire


class _Handler(http.server.BaseHTTPRequestHandler):
    answer: Callable[["_Handler"], None]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).answer(self)

    def log_message(self, *_: Any) -> None:
        pass

    def say(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def wire() -> Iterator[tuple[type[_Handler], signer.Daemon]]:
    handler = type("Handler", (_Handler,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield handler, signer.Daemon(f"http://127.0.0.1:{server.server_address[1]}", "token")
    server.shutdown()
    server.server_close()
    thread.join()


# All at once

SEQS = st.integers(-1, 12)
CALLS = st.one_of(
    st.integers(1, 5).map(lambda dot: transfer(dot * DOT)),
    st.sampled_from([0, 400, 900]).map(remark),
)
ROWS = st.lists(st.builds(draft, SEQS, CALLS), max_size=4)
ORDERED = ROWS.map(lambda rows: sorted(rows, key=lambda row: int(row["seq"])))
STEPS = st.lists(
    st.tuples(
        ROWS | ORDERED,
        st.sampled_from(["include", "keep", "lie", "refuse", "include later"]),
        st.integers(0, 3),
        st.sampled_from(["", "restart", "spend", "grow"]),
    ),
    max_size=12,
)


@given(STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_the_daemon_does_the_limits_hold(
    tmp_path_factory: pytest.TempPathFactory, steps: Any
) -> None:
    desk = Desk(tmp_path_factory.mktemp("desk"), LyingDaemon, **POLICY)
    kept: list[str] = []
    spent = 0
    for rows, sending, behind, event in steps:

        def broadcast(tx: str, sending: str = sending, **_: Any) -> Any:
            kept.append(tx)
            if sending in ("include", "lie"):
                desk.ledger.include(tx)
            if sending in ("lie", "refuse"):
                raise chain.Refused("it is used")

        desk.daemon.list = lambda rows=rows, **_: {"mempool": rows}
        desk.daemon.broadcast = broadcast
        desk.node.behind = behind
        if sending == "include later":
            for tx in kept:
                desk.ledger.include(tx)
        if event == "restart":
            desk.restart()
        elif event == "spend":
            desk.ledger.spend()
            spent += 1
        elif event == "grow":
            desk.ledger.grow(40)
        desk.look(2)
    desk.signer.journal.close()

    lines = [json.loads(line) for line in desk.policy.journal.read_text().splitlines()]
    signed = [line["tx"] for line in lines if line["event"] == "signed"]
    included = [tx for block in desk.ledger.blocks for tx in block if tx != "0x"]
    assert desk.ledger.paid <= 10 * DOT
    assert len(included) == len(set(included)) == len(desk.ledger.calls) - spent <= 8
    assert desk.ledger.fees - spent * DOT // 100 <= DOT // 5
    assert set(included) <= set(signed) | set(kept)
