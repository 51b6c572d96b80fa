"""What becomes of a sent transaction: the store remembers it, the chain is asked, and nothing is
sent twice."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.config import load_settings
from scenarioctl.errors import ChainRefused, ChainUnreachable, Conflict, InvalidRequest, StoreFailed
from scenarioctl.model.jobs import SentTransaction
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.creation import CreateRemark, create_remark
from scenarioctl.operations.jobs import JobMempool, RunJob, job_mempool, run_job
from scenarioctl.operations.transaction_status import (
    TransactionState,
    TransactionStatus,
    transaction_status,
)
from scenarioctl.operations.views import read_unsigned
from scenarioctl.transactions.submission import tracking
from tests.blocks import block_hash, block_of, header_of, number_of
from tests.canned import ALICE_KEY
from tests.messages import raises, says
from tests.node import Feed, Gone, Node, Refusal
from tests.runner import finish
from tests.test_broadcast import (
    CHAIN,
    EVENTS,
    GOOD,
    HASH,
    LONG,
    NUMBER,
    PAID,
    SUCCESS,
    TABLE,
    account,
    answers,
    events,
    failed,
    mortal,
    signed,
)
from tests.test_cli import on_a_terminal, without_colours

#: Valid for the blocks from 992 to 1055.
MORTAL = signed(given=mortal(992))


class FakeChain:
    """Blocks of a chain, as a node tells of them; a test changes them while the node runs."""

    def __init__(self, best: int = NUMBER, finalized: int = NUMBER - 3) -> None:
        self.best = best
        self.finalized = finalized
        self.nonce = 5
        #: Number -> the extrinsics of a block, after its first one.
        self.bodies: dict[int, list[str]] = {}
        #: Number -> which of several forks has the block.
        self.forks: dict[int, int] = {}
        self.events = events((0, SUCCESS), (1, PAID), (1, SUCCESS))
        #: Numbers of the blocks whose bodies were asked for.
        self.read: list[int] = []

    def hash(self, number: int) -> str:
        return block_hash(number, self.body(number), fork=self.forks.get(number, 0))

    def body(self, number: int) -> list[str]:
        return ["0x00", *self.bodies.get(number, ())]

    def include(self, number: int, tx: str = GOOD, *, finalized: bool = False) -> None:
        self.bodies[number] = [tx]
        self.best = max(self.best, number)
        if finalized:
            self.finalized = max(self.finalized, number)

    def answers(self, **changes: Any) -> dict[str, Any]:
        def header(block: str | None = None) -> Any:
            return header_of(block or self.hash(self.best))

        def body(block: str) -> Any:
            number = number_of(block)
            self.read.append(number)
            return block_of(block, self.body(number))

        def storage(key: str, *_: Any) -> str:
            return self.events if key == EVENTS.hex else account(self.nonce)

        def block_hash(number: int = NUMBER) -> str:
            genesis = answers()["chain_getBlockHash"](0)
            return str(genesis) if number == 0 else self.hash(number)

        return answers(
            chain_getBlockHash=block_hash,
            chain_getHeader=header,
            chain_getFinalizedHead=lambda: self.hash(self.finalized),
            chain_getBlock=body,
            state_getStorage=storage,
            **changes,
        )


class World:
    """A program on polkadot, its node, and a clock that a test moves."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.chain = FakeChain()
        self.node = stack.enter_context(Node(self.chain.answers()))
        self.now = 1_763_666_958_000_000_000
        self.config = folder / "config.toml"
        self.config.write_text(f'[chains.polkadot]\nendpoints = ["{self.node.url}"]\n')
        self._stack = stack
        self.app = self.open()

    def open(self) -> Application:
        settings = load_settings(
            {"config": str(self.config), "store": self.folder / "s.db", "cache": self.folder}, {}
        )
        app = Application(settings, clock=lambda: self.now)
        self._stack.callback(lambda: finish(app.close()))
        return app

    def broadcast(self, tx: str = GOOD, **more: Any) -> Any:
        return finish(broadcast(self.app, Broadcast(chain="polkadot", tx=tx, **more)))

    def status(self, hash: str = HASH) -> TransactionState:
        return finish(
            transaction_status(self.app, TransactionStatus(chain="polkadot", hash=hash))
        ).answer

    def warnings(self, hash: str = HASH) -> tuple[str, ...]:
        return finish(
            transaction_status(self.app, TransactionStatus(chain="polkadot", hash=hash))
        ).warnings

    def stored(self, hash: str = HASH) -> SentTransaction | None:
        return finish(self.app.store.sent().get("polkadot", hash))

    def show(self, *line: str) -> str:
        """Return what a terminal shows of a command, with one space between words."""
        given = ("--config", str(self.config), "--store", str(self.folder / "s.db"))
        return re.sub(r"\s+", " ", without_colours(on_a_terminal(self.folder, *given, *line)[0]))

    def submissions(self) -> int:
        return sum(method.startswith("author_submit") for method in self.node.asked)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


# On its way


def test_a_sent_transaction_is_followed_into_its_block_until_it_is_final(world: World) -> None:
    world.broadcast()

    sent = world.status()
    world.chain.include(NUMBER + 2)
    included = world.status()
    world.chain.finalized = NUMBER + 2
    final = world.status()

    assert (sent["state"], sent["block"], sent["success"], sent["events"]) == (
        "sent",
        None,
        None,
        [],
    )
    assert sent["summary"] == says("Polkadot", "isn't in a block")
    assert sent["sent"] == "2025-11-20T19:29:18.000000000Z"
    assert (sent["signer"], sent["nonce"], sent["valid_until_block"]) == (
        "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
        5,
        None,
    )
    assert (included["state"], included["block_number"], included["block"]) == (
        "in-block",
        NUMBER + 2,
        world.chain.hash(NUMBER + 2),
    )
    assert (included["success"], included["error"], included["extrinsic_index"]) == (True, "", 1)
    assert (included["fee"], included["fee_human"]) == ("161154943", "0.0161154943 DOT")
    # An explorer shows no transaction before.
    assert sent["explorer"] is None
    assert included["explorer"] == f"https://polkadot.subscan.io/extrinsic/{included['hash']}"
    assert [next(iter(event)) for event in included["events"]] == ["TransactionPayment", "System"]
    assert final == {
        **included,
        **dict.fromkeys(("state", "became"), "finalized"),
        "summary": final["summary"],
        "settled": True,
    }
    assert final["summary"] == says("finalized", NUMBER + 2, "Polkadot")
    assert [each["settled"] for each in (sent, included)] == [False, False]


def test_a_header_of_another_block_does_not_make_a_transaction_final(world: World) -> None:
    world.broadcast()
    world.chain.include(NUMBER + 1)
    # Whichever block is asked for, it is the best one.
    world.node.answers["chain_getHeader"] = lambda *_: header_of(world.chain.hash(NUMBER + 1))

    assert world.status()["state"] == "sent"
    assert world.warnings() == (says("Polkadot", "another block's header", world.chain.hash(
        NUMBER - 3), url=world.node.url),)  # fmt: skip


def test_a_block_is_not_believed_to_have_a_transaction_that_is_not_under_its_root(
    world: World,
) -> None:
    world.broadcast()
    world.chain.best = NUMBER + 1
    held = ["0x00", GOOD]
    world.node.answers["chain_getBlock"] = lambda block: block_of(
        block, held if number_of(block) > NUMBER else held[:1]
    )

    assert world.status()["state"] == "sent"
    assert world.warnings() == (says("other transactions", NUMBER + 1, url=world.node.url),)


def test_a_final_one_is_told_from_the_store_alone(world: World) -> None:
    world.broadcast()
    world.chain.include(NUMBER + 1, finalized=True)
    final = world.status()
    asked = len(world.node.asked)

    assert world.status() == final
    assert len(world.node.asked) == asked


def test_every_block_is_searched_once(world: World) -> None:
    world.broadcast()
    world.status()
    first = list(world.chain.read)
    world.chain.best, world.chain.finalized = NUMBER + 4, NUMBER + 2
    world.chain.read.clear()
    world.status()
    second = list(world.chain.read)
    world.chain.read.clear()
    world.status()

    # Some blocks before the one that it was sent at, which a fork may have replaced.
    assert first == list(range(NUMBER - tracking.FORK + 1, NUMBER + 1))
    assert second == list(range(NUMBER - 2, NUMBER + 5))
    # Those that are not final can still change.
    assert world.chain.read == [NUMBER + 3, NUMBER + 4]


def test_a_search_has_bounds_and_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "AT_ONCE", 20)
    world.broadcast()
    world.chain.best = world.chain.finalized = NUMBER + 60
    world.chain.include(NUMBER + 40)

    states = []
    for _ in range(3):
        world.chain.read.clear()
        states.append((world.status()["state"], len(set(world.chain.read))))

    assert [state for state, _ in states] == ["sent", "sent", "finalized"]
    assert max(count for _, count in states) <= 20


def test_one_whose_block_a_fork_replaces_is_sent_again(world: World) -> None:
    world.broadcast()
    world.chain.include(NUMBER + 1)
    before = world.status()
    world.chain.forks[NUMBER + 1] = 1
    world.chain.bodies.clear()
    between = world.status()
    world.chain.include(NUMBER + 2)
    after = world.status()

    assert before["state"] == "in-block"
    assert (between["state"], between["block"], between["success"]) == ("sent", None, None)
    assert (after["state"], after["block_number"]) == ("in-block", NUMBER + 2)


def test_a_node_that_lags_behind_doesn_t_take_it_out_of_its_block(world: World) -> None:
    world.broadcast()
    world.chain.include(NUMBER + 1)
    before = world.status()
    world.chain.best = NUMBER

    assert world.warnings() == (says(NUMBER, NUMBER + 1, url=world.node.url),)
    assert world.status() == before


def test_one_that_fails_in_its_block_says_why(world: World) -> None:
    world.chain.events = events((1, PAID), (1, failed({"Token": "FundsUnavailable"})))
    world.broadcast()
    world.chain.include(NUMBER + 1, finalized=True)

    status = world.status()

    assert (status["state"], status["success"], status["error"]) == (
        "finalized",
        False,
        "Token.FundsUnavailable",
    )
    assert status["summary"] == says("failed", NUMBER + 1, "Polkadot")


def test_what_fails_inside_a_call_that_succeeds_is_told(world: World) -> None:
    inner = {"Utility": {"ItemFailed": {"error": {"Token": "FundsUnavailable"}}}}
    world.chain.events = events((1, inner), (1, SUCCESS))
    world.broadcast()
    world.chain.include(NUMBER + 1)

    status = world.status()

    assert (status["success"], status["notes"]) == (
        True,
        ["Utility.ItemFailed: Token.FundsUnavailable"],
    )


def test_the_account_that_a_transaction_made_is_told(world: World) -> None:
    made = {
        "pure": bytes([7] * 32),
        "who": ALICE_KEY,
        "proxy_type": "NonTransfer",
        "disambiguation_index": 3,
    }
    world.chain.events = events((1, {"Proxy": {"PureCreated": made}}), (1, SUCCESS))
    world.broadcast()
    world.chain.include(NUMBER + 1)

    (created,) = world.status()["created"]
    shown = world.show("tx", "status", "polkadot", HASH)

    address, proxy = (format_account(each, 0) for each in (bytes([7] * 32), ALICE_KEY))
    at = f"{NUMBER + 1}-1"
    assert created == {
        "address": address,
        "proxy": proxy,
        "type": "NonTransfer",
        "index": 3,
        "at": at,
    }
    assert all(text in shown for text in (address, proxy, "NonTransfer", at))


def test_it_expires_only_once_no_final_block_can_have_it(world: World) -> None:
    hash = world.broadcast(MORTAL).answer["hash"]
    world.chain.best, world.chain.finalized = 1070, 1054
    before = world.status(hash)
    world.chain.finalized = 1055
    after = world.status(hash)

    assert (before["state"], before["valid_until_block"], before["searched_block"]) == (
        "sent",
        1055,
        1054,
    )
    assert before["summary"] == says("1055")
    assert (after["state"], after["settled"]) == ("expired", True)
    assert after["summary"] == says("expired", "1055", "Polkadot")
    # What could not include it any more was not searched.
    assert max(world.chain.read) == 1055


def test_a_transaction_in_the_last_block_of_its_validity_is_found(world: World) -> None:
    hash = world.broadcast(MORTAL).answer["hash"]
    world.chain.include(1055, MORTAL)
    world.chain.best, world.chain.finalized = 1070, 1060

    assert world.status(hash)["state"] == "finalized"


def test_an_immortal_one_never_expires(world: World) -> None:
    world.broadcast()
    world.chain.best = world.chain.finalized = NUMBER + 100

    assert world.status()["state"] == "sent"


def test_a_restart_of_the_program_forgets_nothing(world: World) -> None:
    world.broadcast()
    world.app = world.open()
    world.chain.include(NUMBER + 1)

    assert world.status()["state"] == "in-block"


# That was not sent from here


def test_one_that_was_not_sent_from_here_is_looked_for_in_the_newest_blocks(world: World) -> None:
    world.chain.include(NUMBER - 10)

    status = world.status()

    assert (status["state"], status["block_number"], status["success"]) == (
        "finalized",
        NUMBER - 10,
        True,
    )
    assert (status["sent"], status["searched_block"]) == (None, None)
    assert world.stored() is None
    assert world.chain.read[0] == NUMBER


def test_one_that_nobody_knows_is_unknown(world: World) -> None:
    world.chain.include(NUMBER - tracking.NEWEST)

    status = world.status()

    assert (status["state"], status["settled"]) == ("unknown", False)
    assert status["summary"] == says("Polkadot", "newest blocks")
    assert sorted(world.chain.read) == list(range(NUMBER - tracking.NEWEST + 1, NUMBER + 1))
    assert all(value in (None, "", [], False) for name, value in status.items() if name not in TOLD)


TOLD = ("chain", "hash", "state", "became", "summary")


def test_another_chain_s_transaction_is_another_one(world: World) -> None:
    world.broadcast()

    offline = Application(replace(world.app.settings, offline=True))
    with pytest.raises(ChainUnreachable):
        finish(transaction_status(offline, TransactionStatus(chain="kusama", hash=HASH)))
    finish(offline.close())


@pytest.mark.parametrize(
    "hash", ["", "0x12", "11" * 32, "0x" + "11" * 33, "0x" + "zz" * 32, "0x" + " " * 64]
)
def test_what_is_no_hash_is_refused(world: World, hash: str) -> None:
    with raises(InvalidRequest, says("hash", "64 hex digits")):
        world.status(hash)


# Chains that don't answer


def test_what_was_known_is_told_while_the_chain_can_t_be_asked(world: World) -> None:
    world.broadcast()
    world.app = Application(replace(world.app.settings, offline=True))

    status, warnings = world.status(), world.warnings()
    with pytest.raises(ChainUnreachable):
        world.status("0x" + "77" * 32)
    finish(world.app.close())

    assert status["state"] == "sent"
    assert warnings == (says("Polkadot", "out of date"),)


def test_a_block_without_state_leaves_the_effects_unknown(world: World) -> None:
    world.broadcast()
    world.chain.include(NUMBER + 1, finalized=True)

    def discarded(*_: Any) -> Any:
        raise Refusal(4003, "UnknownBlock: State already discarded for 0x77")

    version = world.node.answers["state_getRuntimeVersion"]
    world.node.answers["state_getRuntimeVersion"] = lambda *at: discarded() if at else version()
    status, warnings = world.status(), world.warnings()

    assert (status["state"], status["success"], status["fee"], status["settled"]) == (
        "finalized",
        None,
        None,
        False,
    )
    assert len(warnings) == 1
    assert "does not keep the state of block" in warnings[0]


def test_a_node_that_lost_its_blocks_proves_nothing(world: World) -> None:
    hash = world.broadcast(MORTAL).answer["hash"]
    world.chain.best = world.chain.finalized = 2000
    world.node.answers["chain_getBlock"] = None

    assert world.status(hash)["state"] == "sent"


def refuse_writes(world: World, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    async def full(*_: Any) -> None:
        raise StoreFailed("no room is left")

    monkeypatch.setattr(type(world.app.store.sent()), method, full)


def test_a_store_that_takes_no_writes_doesn_t_hide_the_chain(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.broadcast()
    world.chain.include(NUMBER + 1)
    refuse_writes(world, monkeypatch, "change")

    assert world.warnings() == (says("no room is left"),)
    assert world.status()["state"] == "in-block"


# Nothing is sent twice


def test_it_is_written_down_before_it_is_sent(world: World) -> None:
    seen: list[tuple[Any, ...]] = []

    def submit(_: str) -> str:
        with closing(sqlite3.connect(world.folder / "s.db")) as database:
            seen.extend(
                database.execute("SELECT hash, state, at_block, sent FROM sent_transactions")
            )
        return HASH

    world.node.answers["author_submitExtrinsic"] = submit

    world.broadcast()

    assert seen == [(HASH, "uncertain", NUMBER, world.now)]
    assert world.status()["state"] == "sent"


def test_the_same_bytes_are_sent_once(world: World) -> None:
    world.broadcast()

    with pytest.raises(Conflict) as refused:
        world.broadcast()

    assert str(refused.value) == says("polkadot", "again", hash=HASH)
    assert refused.value.details == {
        "hash": HASH,
        "state": "sent",
        "block": None,
        "block_number": None,
    }
    assert world.submissions() == 1


def test_one_whose_nonce_is_used_says_where_it_is(world: World) -> None:
    world.broadcast()
    world.chain.include(NUMBER + 1)
    world.chain.nonce = 6
    world.status()

    for again in (False, True):
        with pytest.raises(Conflict) as refused:
            world.broadcast(again=again)

        assert "nonce 5 of" in str(refused.value)
        assert refused.value.details["state"] == "in-block"
        assert refused.value.details["block_number"] == NUMBER + 1
    assert world.submissions() == 1


def test_again_sends_what_no_block_has(world: World) -> None:
    world.broadcast()

    world.broadcast(again=True)

    assert world.submissions() == 2
    assert world.status()["state"] == "sent"


def test_again_believes_blocks_and_not_a_free_nonce(world: World) -> None:
    """An account that is removed because it is empty begins with the nonce 0 again."""
    world.broadcast()
    world.chain.include(NUMBER + 1, finalized=True)

    with pytest.raises(Conflict) as refused:
        world.broadcast(again=True)

    assert str(refused.value) == says(NUMBER + 1, "polkadot", hash=HASH)
    assert refused.value.details["state"] == "finalized"
    assert world.submissions() == 1


def test_again_waits_until_all_blocks_are_searched(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "AT_ONCE", 50)
    world.broadcast()
    world.chain.best = world.chain.finalized = NUMBER + 90
    refusals = []
    for _ in range(2):
        with pytest.raises(Conflict) as refused:
            world.broadcast(again=True)
        refusals.append(str(refused.value))

    world.broadcast(again=True)

    assert refusals[0] == refusals[1] == says("tx status", "searched", hash=HASH)
    assert world.submissions() == 2


def test_again_needs_a_chain_that_tells_its_blocks(world: World) -> None:
    world.broadcast()
    world.node.answers["chain_getBlock"] = None

    with pytest.raises(Conflict):
        world.broadcast(again=True)

    assert world.submissions() == 1


def test_one_that_the_node_refuses_is_not_remembered(world: World) -> None:
    def refuse(_: str) -> str:
        raise Refusal(1010, "Invalid Transaction", "Inability to pay some fees")

    world.node.answers["author_submitExtrinsic"] = refuse
    with pytest.raises(ChainRefused):
        world.broadcast()
    forgotten = world.stored()
    world.node.answers["author_submitExtrinsic"] = HASH
    world.broadcast()

    assert forgotten is None
    assert world.status()["state"] == "sent"


def test_one_that_was_sent_and_is_refused_again_stays(world: World) -> None:
    world.broadcast()

    def refuse(_: str) -> str:
        raise Refusal(1012, "Transaction is temporarily banned")

    world.node.answers["author_submitExtrinsic"] = refuse
    with pytest.raises(ChainRefused):
        world.broadcast(again=True)

    assert world.status()["state"] == "sent"


def test_one_that_is_dropped_while_it_waits_is_still_watched(world: World) -> None:
    world.node.answers["author_submitAndWatchExtrinsic"] = Feed(["ready", "dropped"])
    with pytest.raises(ChainRefused):
        world.broadcast(wait="in-block")

    assert world.status()["state"] == "sent"


@pytest.mark.parametrize("wait", ["", "in-block"])
def test_one_that_a_node_has_in_its_pool_already_was_sent(world: World, wait: str) -> None:
    def known(_: str) -> str:
        raise Refusal(1013, "Transaction Already Imported")

    world.node.answers.update(author_submitExtrinsic=known, author_submitAndWatchExtrinsic=known)
    with suppress(ChainRefused, ChainUnreachable):
        world.broadcast(wait=wait)

    assert world.status()["state"] == "sent"


def test_a_lost_answer_leaves_that_it_may_have_been_sent(world: World) -> None:
    def lost(_: str) -> str:
        raise Gone("killed")

    world.node.answers["author_submitExtrinsic"] = lost
    with pytest.raises(ChainUnreachable):
        world.broadcast()
    status = world.status()
    with pytest.raises(Conflict) as refused:
        world.broadcast()
    world.chain.include(NUMBER + 1)

    assert (status["state"], status["summary"]) == (
        "uncertain",
        says("may have been sent", "Polkadot"),
    )
    assert str(refused.value) == says("may already have been sent", hash=HASH)
    assert refused.value.details["state"] == "uncertain"
    assert world.status()["state"] == "in-block"


def test_one_whose_state_is_asked_for_while_it_is_sent_is_still_confirmed(world: World) -> None:
    def submit(_: str) -> str:
        # As another tab does that follows it: it has searched some blocks meanwhile.
        with closing(sqlite3.connect(world.folder / "s.db")) as database:
            database.execute(
                "UPDATE sent_transactions SET searched = searched + 1, revision = revision + 1"
            )
            database.commit()
        return HASH

    world.node.answers["author_submitExtrinsic"] = submit
    world.broadcast()

    stored = world.stored()
    assert stored is not None
    assert (stored.state, stored.revision) == ("sent", 2)


def test_nothing_is_sent_if_the_store_can_t_remember_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_writes(world, monkeypatch, "add")
    with raises(StoreFailed, says("nothing was sent")):
        world.broadcast()
    assert world.submissions() == 0


def test_a_store_that_fails_after_it_was_sent_hides_no_hash(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_writes(world, monkeypatch, "change")

    result = world.broadcast()

    assert result.answer["hash"] == HASH
    assert result.warnings == (says("may have been sent", "no room is left"),)


# Drafts of jobs


@pytest.fixture
def draft(world: World) -> tuple[str, int]:
    """Return the job and the number of a draft whose call is GOOD's."""
    with_offline = Application(replace(world.app.settings, offline=True))
    created = finish(
        create_remark(with_offline, CreateRemark(chain="polkadot", text="hello"))
    ).answer
    job = str(created["result"])
    finish(run_job(with_offline, RunJob(id=job)))
    (row,) = finish(job_mempool(with_offline, JobMempool(id=job))).answer["mempool"]
    finish(with_offline.close())
    return job, row["seq"]


def mempool(world: World, job: str) -> Any:
    (row,) = finish(job_mempool(world.app, JobMempool(id=job))).answer["mempool"]
    return row


def sign_draft(world: World, job: str) -> str:
    drafted = bytes.fromhex(mempool(world, job)["tx"][2:])
    return signed(read_unsigned(TABLE, CHAIN, drafted)[0])


def test_a_draft_is_marked_as_sent(world: World, draft: tuple[str, int]) -> None:
    job, seq = draft
    tx = sign_draft(world, job)
    hash = world.broadcast(tx, job=job, draft=seq).answer["hash"]
    marked = mempool(world, job)["sent"]
    world.chain.include(NUMBER + 1, tx, finalized=True)
    status = world.status(hash)

    assert marked == {"hash": hash, "state": "sent", "block_number": None, "success": None}
    assert (status["job"], status["draft"]) == (job, seq)
    assert mempool(world, job)["sent"] == {
        "hash": hash,
        "state": "finalized",
        "block_number": NUMBER + 1,
        "success": True,
    }


def test_a_draft_of_another_call_is_refused(world: World, draft: tuple[str, int]) -> None:
    job, seq = draft

    with raises(InvalidRequest, says("draft", seq, job=job)):
        world.broadcast(signed(LONG), job=job, draft=seq)
    assert world.submissions() == 0
    assert "sent" not in mempool(world, job)
