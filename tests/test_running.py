"""A run of a scenario: what it drafts, logs, waits for and leaves out."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from scenarioctl.actions.running import Run
from scenarioctl.actions.step_kind import Wait
from scenarioctl.actions.webhook import webhooks_of
from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import ChainUnreachable, InvalidRequest, RequestFailed, TimedOut
from scenarioctl.formats.documents import pack
from scenarioctl.model.diagram import Diagram
from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    SECOND,
    MempoolDraft,
    Retention,
)
from scenarioctl.operations.runs import wait_for
from scenarioctl.operations.stored_diagrams import store_document
from scenarioctl.outgoing import WebAnswer, WebRequest
from scenarioctl.runtime.table import load_bundled
from scenarioctl.stores import StoredScenario
from scenarioctl.transactions.runtime_query import QueryAnswer
from tests import test_actions
from tests.conftest import BOB, BOB_HEX, DATA
from tests.messages import says
from tests.network import FakeNetwork
from tests.runner import finish
from tests.test_actions import diagram, transfer_form
from tests.test_samples import open_sample

NOW = 1_700_000_000_123_456_789
UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
OTHER = "0c3e7b52-9c1a-4f0e-8f57-3f2b6f0d1a11"
TRANSFER = (
    "0xf804630905000100a10f05000101008eaf04151687736326c9fea17e25fc5287613693c912909cb226aa"
    "4794f26a4805040000000700d6117e030000000000"
)


class Web:
    """Stands where web servers are reached: answers one thing after the other, and keeps what it
    was sent."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[WebRequest] = []

    async def send(self, request: WebRequest, *, sleep: object) -> WebAnswer:
        self.sent.append(request)
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, Exception):
            raise answer
        return WebAnswer(status=200, headers={"x-a": "1"}, body=answer, milliseconds=7)

    async def close(self) -> None:
        """Nothing is open."""


class Stage:
    """An application on a store of its own, whose pauses take no time."""

    def __init__(self, path: Path, **settings: Any) -> None:
        self.slept: list[float] = []
        #: Called before each pause.
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.waits: list[str] = []
        given = {"offline": True, "store": path / "s.db", "cache": path / "r", **settings}
        self.app = Application(
            Settings(config=path / "c", **given), clock=lambda: NOW, sleep=self._sleep
        )

    def close(self) -> None:
        finish(self.app.close())

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.meanwhile is not None:
            await self.meanwhile()
        await asyncio.sleep(0)

    def web(self, *answers: Any) -> Web:
        web = Web(*answers)
        self.app.resources.outgoing[()] = web  # type: ignore[assignment]
        return web

    def run(self, found: Diagram, *events: tuple[str, Any]) -> Run:
        """Return the run of *found*, with events that came before it."""

        async def go() -> Run:
            await self.keep(found)
            for uuid, content in events:
                await self.post(uuid, content)
            return await self.legs(found)

        return finish(go())

    async def legs(self, found: Diagram) -> Run:
        """Take each leg with a run of its own, as another process would; the last one has what all
        of them left."""
        running = Run(self.app, "scenario1", found, key="scenario1 1")
        legs = [running]
        wait = await running.go()
        while wait is not None:
            self.waits.append(wait.step)
            waited = await wait_for(self.app, wait, job="scenario1")
            saved = json.loads(json.dumps(running.save()))
            running = Run(self.app, "scenario1", found, key="scenario1 1")
            running.restore(saved)
            legs.append(running)
            wait = await running.go(waited=waited)
        running.lines = [line for leg in legs for line in leg.lines]
        running.drafts = [draft for leg in legs for draft in leg.drafts]
        running.used_events = {uuid: id for leg in legs for uuid, id in leg.used_events.items()}
        return running

    async def keep(self, found: Diagram) -> None:
        await self.app.store.put_scenario(
            StoredScenario(
                id="scenario1",
                blob=pack(found.document),
                summary="",
                chains=(),
                created=NOW,
                updated=NOW,
                webhooks=webhooks_of(found),
            ),
            replace=True,
        )

    async def post(self, uuid: str, content: Any) -> None:
        await self.app.store.put_event(uuid, content, now=NOW, retention=Retention())


@pytest.fixture(autouse=True)
def _drafts_without_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarioctl.actions.running.uuid4", str)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def remark(text: Any, chain: str = "polkadot") -> tuple[str, Any]:
    return "action", {
        "action": "Remark",
        "actionData": {"plain": True, "source": {"chain": chain, "target": text}},
    }


def webhook(uuid: str = UUID, **form: Any) -> tuple[str, Any]:
    return "webhook", {"webhookName": "payments", "uuid": uuid, **form}


def text_of(draft: MempoolDraft) -> str:
    """Return the text of a plain remark."""
    table = load_bundled(draft.chain)
    assert table is not None
    # The length before the extrinsic takes 1, 2 or 4 bytes.
    data = bytes.fromhex(draft.tx[2:])
    call = table.decode_call(data[(1, 2, 4)[data[0] & 3] + 1 :])
    remark = call.args["remark"]
    assert isinstance(remark, bytes)
    return remark.decode()


class TestDrafts:
    def test_every_kind_of_transaction_is_drafted_in_order(self, stage: Stage) -> None:
        swap = ("action", test_actions.TestSwap().form(minAmountOut="123"))
        running = stage.run(
            diagram(
                ("chainTx", test_actions.TestChainTx.FORM),
                remark("hi"),
                swap,
                ("action", transfer_form()),
                edges="dc",
            )
        )

        assert [
            (draft.tx_type, draft.chain, draft.amount, draft.node) for draft in running.drafts
        ] == [
            ("ChainTx", "assetHub", "0", "a"),
            ("Remark", "polkadot", "0", "b"),
            ("xTransfer", "polkadot", "15000000000", "d"),
            ("swap", "hydraDx", "20000000000", "c"),
        ]
        assert running.drafts[1].tx == "0x18040000086869"
        assert running.failure == ""

    def test_a_draft_that_fails_is_recorded_and_the_run_goes_on(self, stage: Stage) -> None:
        running = stage.run(
            diagram(("action", transfer_form(target_address=None)), remark("after it"), edges="ab")
        )

        failed, drafted = running.drafts
        assert failed == MempoolDraft(
            chain="polkadot",
            amount="15000000000",
            tx_type="xTransfer",
            date=NOW,
            tx=NO_TRANSACTION,
            node="a",
        )
        assert text_of(drafted) == "after it"
        assert running.lines[0] == says("target.address", "missing")
        assert running.failure == running.lines[0]
        assert isinstance(running.error, InvalidRequest)

    @pytest.mark.parametrize(
        ("kind", "form", "chain", "tx_type", "reason"),
        [
            (
                "action",
                transfer_form(source_chain=None),
                "",
                "xTransfer",
                "source.chain is missing, expected the name of a chain",
            ),
            (
                "chainTx",
                {"selectedChain": "AssetHub"},
                "assetHub",
                "ChainTx",
                "selectedPallet is missing, expected the name of a pallet",
            ),
            (
                "chainQuery",
                {"selectedChain": "polkadot", "selectedPallet": "System"},
                "polkadot",
                "ChainQuery",
                (
                    "selectedMethod.name is missing, expected the name of a storage entry, "
                    "constant or call"
                ),
            ),
        ],
    )
    def test_what_is_known_of_a_failed_draft_stands_in_its_entry(
        self, stage: Stage, kind: str, form: Any, chain: str, tx_type: str, reason: str
    ) -> None:
        running = stage.run(diagram((kind, form)))

        assert running.drafts == [
            MempoolDraft(
                chain=chain, amount="0", tx_type=tx_type, date=NOW, tx=NO_TRANSACTION, node="a"
            )
        ]
        assert running.lines == [says("transaction", reason)]

    def test_drafts_expire_after_the_hours_of_the_setting(self, tmp_path: Path) -> None:
        two, never = Stage(tmp_path, draft_hours=2), Stage(tmp_path, draft_hours=0)

        assert two.run(diagram(remark("x"))).drafts[0].expires == NOW + 2 * 3600 * SECOND
        assert never.run(diagram(remark("x"))).drafts[0].expires is None
        for stage in (two, never):
            stage.close()

    def test_a_scenario_that_runs_in_a_circle_fails(self, stage: Stage) -> None:
        running = stage.run(diagram(remark("a"), remark("b"), edges="ab ba"))

        assert running.drafts == []
        assert running.lines == [says("a", "b")] == [running.failure]

    def test_an_unknown_step_is_skipped(self, stage: Stage) -> None:
        running = stage.run(
            diagram(("telegram", {}), ("action", {"action": "stake"}), remark("x"), edges="ab bc")
        )

        assert running.lines == [
            says("telegram", "unknown"),
            says("stake", "b"),
            says("2000000", "offline"),
        ]
        assert running.failure == ""

    def test_the_outcome_of_each_step_is_told(self, stage: Stage) -> None:
        running = stage.run(
            diagram(
                *(
                    remark("x"),
                    ("delay", {"seconds": "0.01"}),
                    ("telegram", {}),
                    ("http", {"url": "nowhere"}),
                ),
                *(remark("after"), ("chain", {"chain": "polkadot"})),
                edges="ab bc cd de",
            )
        )

        assert {node: step.outcome for node, step in running.steps.items()} == {
            "a": "drafted",
            "b": "done",
            "c": "skipped",
            "d": "failed",
            "e": "skipped",
        }

    def test_each_step_has_its_duration_input_and_output(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stage.web({"note": "n" * 2000})
        ticks = iter(range(NOW, NOW + 100 * SECOND, SECOND))
        monkeypatch.setattr(stage.app, "clock", lambda: next(ticks))
        form = {"url": "https://example.org/rate?key=secret", "method": "get"}
        found = diagram(
            *(
                ("http", form),
                webhook(),
                remark("{{ who }}"),
                ("http", {"url": "nowhere"}),
                remark("x"),
            ),
            edges="ab bc cd de",
        )

        steps = stage.run(found, (UUID, {"who": "Ann"})).steps

        http, event, said, failed, skipped = (steps[node] for node in "abcde")
        assert http.seconds is not None and http.seconds >= 1
        assert http.input == "GET https://example.org/rate?…"
        # Without the headers of the answer, and the first characters.
        whole = json.dumps({"status": 200, "body": {"note": "n" * 2000}})
        assert (http.output, http.length) == (whole[:1000], len(whole))
        assert event.output == '{"who": "Ann"}'
        assert "Ann" in said.input
        assert said.output.startswith("Drafted polkadot > Remark > polkadot")
        assert (failed.outcome, failed.length) == ("failed", len(failed.output))
        assert "nowhere" in failed.output
        assert (skipped.seconds, skipped.input) == (None, "")
        assert "was skipped because 'd' failed" in skipped.output

    def test_a_bug_ends_the_run_and_what_came_before_it_can_be_read(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("scenarioctl.actions.delay.to_text", broken)
        running = Run(
            stage.app, "scenario1", diagram(remark("x"), ("delay", {"seconds": 1}), edges="ab")
        )
        with pytest.raises(ZeroDivisionError):
            finish(running.go())

        assert len(running.lines) == len(running.drafts) == 1


class TestQuery:
    FORM = {  # noqa: RUF012
        "selectedChain": "polkadot",
        "selectedPallet": "System",
        "selectedMethod": {"name": "Account"},
        "methodInput": BOB,
    }

    def test_the_answer_stands_in_the_mempool_as_json_text(self, tmp_path: Path) -> None:
        account = {
            "nonce": 5,
            "consumers": 0,
            "providers": 1,
            "sufficients": 0,
            "data": {"free": 10**15, "reserved": 0, "frozen": 0, "flags": 2**127},
        }
        with FakeNetwork(tmp_path) as network:
            polkadot = network.chains["polkadot"]
            polkadot.store("System", "Account", bytes.fromhex(BOB_HEX[2:]), value=account)
            stage = Stage(
                tmp_path, offline=False, chains={"polkadot": {"endpoints": [polkadot.node.url]}}
            )
            running = stage.run(
                diagram(
                    ("chainQuery", self.FORM),
                    remark("{{ query.data.free }} {{ a.nonce }}"),
                    edges="ab",
                )
            )
            stage.close()

        answer = (
            '{"nonce":"5","consumers":"0","providers":"1","sufficients":"0",'
            '"data":{"free":"1000000000000000","reserved":"0","frozen":"0",'
            '"flags":"170141183460469231731687303715884105728"}}'
        )
        assert running.drafts[0] == MempoolDraft(
            chain="polkadot",
            amount="0",
            tx_type="ChainQuery",
            date=NOW,
            tx=answer,
            node="a",
            human="free 100000 DOT, reserved 0 DOT, frozen 0 DOT",
        )
        assert text_of(running.drafts[1]) == "1000000000000000 5"
        assert running.lines[:2] == [
            "Querying System.Account on Polkadot",
            says("Polkadot", answer),
        ]

    def test_a_chain_that_is_not_reached_gives_no_transaction(self, stage: Stage) -> None:
        running = stage.run(
            diagram(("chainQuery", self.FORM), remark("{{ query.nonce }}"), edges="ab")
        )

        assert [(draft.tx_type, draft.tx) for draft in running.drafts] == [
            ("ChainQuery", NO_TRANSACTION),
            ("Remark", NO_TRANSACTION),
        ]
        assert running.lines == [
            "Querying System.Account on Polkadot",
            says("a", "Polkadot", "offline"),
            says("b", "source.target", "query.nonce"),
        ]

    CONSTANT: ClassVar = {
        "selectedChain": "polkadot",
        "selectedPallet": "Balances",
        "selectedMethod": "ExistentialDeposit",
    }

    def test_an_earlier_answer_does_not_stand_for_one_that_did_not_come(self, stage: Stage) -> None:
        nodes = [
            ("chainQuery", self.CONSTANT),
            ("chainQuery", self.FORM),
            ("delay", {"seconds": "60"}),
        ]
        running = stage.run(
            diagram(*nodes, remark("{{ query }} {{ a }}"), remark("{{ a }}"), edges="ab bc cd de")
        )

        assert running.drafts[2].tx == NO_TRANSACTION
        assert running.lines[-2] == says("d", "query", "b")
        assert text_of(running.drafts[3]) == "10000000000"


class TestWebhook:
    def test_the_newest_event_fills_the_steps_behind(self, stage: Stage) -> None:
        found = diagram(webhook(), ("action", transfer_form(target_address="{{ to }}")), edges="ab")
        running = stage.run(found, (UUID, {"to": "nobody"}), (UUID, {"to": BOB}))

        assert [draft.tx for draft in running.drafts] == [TRANSFER]
        assert running.used_events == {UUID: 2}
        assert running.lines[:2] == [
            says("POST", UUID, "3600"),
            says("Webhook", UUID, "2"),
        ]
        assert (stage.slept, stage.waits) == ([], [])

    def test_a_run_waits_until_an_event_comes(self, stage: Stage) -> None:
        async def post_at_the_third_pause() -> None:
            if len(stage.slept) == 3:
                await stage.post(UUID, {"note": "late"})

        stage.meanwhile = post_at_the_third_pause
        running = stage.run(diagram(webhook(), remark("{{ note }}"), edges="ab"))

        assert running.lines[:2] == [
            says("POST", UUID, "3600"),
            says("Webhook", UUID, "1"),
        ]
        assert text_of(running.drafts[0]) == "late"
        assert stage.slept == [0.5, 0.5, 0.5]
        assert stage.waits == [f"webhook {UUID}"]

    def test_a_webhook_that_nobody_calls_ends_what_lies_behind_it(self, stage: Stage) -> None:
        nodes = [webhook(timeout=1), remark("behind"), ("delay", {"seconds": 5}), remark("beside")]
        running = stage.run(diagram(*nodes, edges="ab bc"))

        assert running.lines == [
            says("POST", UUID, "1"),
            says("webhook", "a", UUID, "1"),
            says(NO_TRANSACTION, "Remark", "b"),
            says("delay", "c"),
            says("2000000", "offline"),
        ]
        found = [(draft.node, draft.tx == NO_TRANSACTION) for draft in running.drafts]
        assert found == [("b", True), ("d", False)]
        assert running.failure == running.lines[1]
        assert isinstance(running.error, TimedOut)
        assert stage.waits == [f"webhook {UUID}"]

    def test_two_webhooks_are_both_waited_for_and_the_newer_step_is_looked_at_first(
        self, stage: Stage
    ) -> None:
        found = diagram(
            webhook(),
            webhook(OTHER),
            remark("{{ a }} {{ b }} {{ both }} {{ a.both }}"),
            edges="ab bc",
        )
        # The node `a` has answered under its id too, which comes before what events hold at their
        # top.
        running = stage.run(
            found, (UUID, {"x": 1, "both": "first"}), (OTHER, {"y": 2, "both": "second"})
        )

        assert text_of(running.drafts[0]) == (
            '{"x": 1, "both": "first"} {"y": 2, "both": "second"} second first'
        )

    def test_a_leg_ends_where_the_run_waits(self, stage: Stage) -> None:
        found = diagram(remark("x"), webhook(), edges="ab")

        async def go() -> tuple[Run, Wait | None]:
            await stage.keep(found)
            running = Run(stage.app, "scenario1", found)
            return running, await running.go()

        running, wait = finish(go())

        assert wait == Wait(step=f"webhook {UUID}", seconds=3600, webhook=UUID)
        assert [draft.node for draft in running.drafts] == ["a"]
        assert running.lines[1:] == [says("POST", UUID, "3600")]


class TestDelay:
    def test_a_run_pauses(self, stage: Stage) -> None:
        running = stage.run(
            diagram(("delay", {"seconds": "1.5"}), ("delay", {"seconds": 60}), edges="ab")
        )

        assert stage.slept == [1.5, 60.0]
        assert running.lines == ["Waiting 1.5 s", "Waiting 60 s"]
        assert stage.waits == ["delay 1.5 s", "delay 60 s"]


class TestHttp:
    def test_a_request_is_sent_and_its_answer_used(self, stage: Stage) -> None:
        web = stage.web({"price": 1.5, "who": "Ann"})
        form = {"url": "https://example.org/rate?key=secret", "method": "get"}
        text = "{{ http.body.price }} {{ http.status }} {{ http.headers.x-a }} {{ a.body.who }}"
        running = stage.run(diagram(("http", form), remark(text), edges="ab"))

        assert web.sent == [
            WebRequest(method="GET", url="https://example.org/rate?key=secret", headers=(), body="")
        ]
        assert running.lines[:2] == [
            "Requesting GET example.org/rate",
            "GET example.org/rate: 200 in 7 ms",
        ]
        assert text_of(running.drafts[0]) == "1.5 200 1 Ann"
        assert running.drafts == running.drafts[:1]

    def test_a_request_that_sends_has_a_key_which_each_attempt_at_the_run_repeats(
        self, stage: Stage
    ) -> None:
        own = {"key": "idempotency-key", "value": "mine"}
        forms = [
            {"url": "https://h/a", "method": "post"},
            {"url": "https://h/b", "method": "delete", "headers": [own]},
            {"url": "https://h/c", "method": "get"},
        ]
        found = diagram(*[("http", form) for form in forms])

        def keys(run: str) -> list[str | None]:
            web = stage.web({}, {}, {})
            finish(Run(stage.app, "scenario1", found, key=run).go())
            named = [{name.lower(): value for name, value in sent.headers} for sent in web.sent]
            return [headers.get("idempotency-key") for headers in named]

        first, again, next_one = keys("scenario1 1"), keys("scenario1 1"), keys("scenario1 2")

        assert first == again
        assert first[1:] == next_one[1:] == ["mine", None]
        assert first[0] not in (next_one[0], None)

    def test_the_newest_answer_goes_by_the_short_name(self, stage: Stage) -> None:
        stage.web({"n": 1}, {"n": 2})
        http = ("http", {"url": "https://example.org/"})
        running = stage.run(
            diagram(http, http, remark("{{ http.body.n }} {{ a.body.n }}"), edges="ab bc")
        )

        assert text_of(running.drafts[0]) == "2 1"

    def test_a_request_that_fails_ends_what_lies_behind_it(self, stage: Stage) -> None:
        stage.web(RequestFailed("example.org answered 500"))
        nodes = [
            ("http", {"url": "https://example.org/x?token=secret"}),
            remark("behind"),
            remark("beside"),
        ]
        running = stage.run(diagram(*nodes, edges="ab"))

        assert running.lines[:3] == [
            "Requesting GET example.org/x",
            "http 'a' failed: GET example.org/x: example.org answered 500",
            says("Remark", "b"),
        ]
        assert [draft.node for draft in running.drafts] == ["b", "c"]
        assert running.failure == running.lines[1]
        assert isinstance(running.error, RequestFailed)

    def test_secrets_stay_out_of_the_log(self, stage: Stage) -> None:
        stage.web(RequestFailed("h answered 400"))
        forms = [
            {
                "url": "https://h/p?key=s3cret#s3cret",
                "method": "post",
                "headers": [{"key": "Authorization", "value": "Bearer s3cret"}],
                "requestContent": "s3cret",
            },
            {"url": "https://h/", "headers": [{"key": "Authorization", "value": "s3cret\n"}]},
            {"url": "https://h h/?s3cret"},
        ]
        running = stage.run(diagram(*(("http", form) for form in forms)))

        assert running.lines == [
            "Requesting POST h/p",
            "http 'a' failed: POST h/p: h answered 400",
            says("http", "b", "headers[0].value"),
            says("c", "https://h h/"),
        ]


def editor_pill(path: str, step: object) -> str:
    """Return a pill as the web editor writes it."""
    return (
        f'<span class="pill" data-id="{path}" data-text="{step}. x" data-nodeindex="{step}" '
        f'style="background-color: orange;">{step}. x</span>\u200b'
    )


class TestPillsOfTheEditor:
    """A pill of the editor's names its step: another one's data never stands in for it."""

    @pytest.fixture(autouse=True)
    def _an_account(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def ask(app: Application, query: Any, **_: Any) -> QueryAnswer:
            return QueryAnswer(
                text=json.dumps({"nonce": "3", "data": {"free": "247547297012", "max_size": "7"}})
            )

        monkeypatch.setattr("scenarioctl.actions.chain_query.ask", ask)

    def test_the_answer_of_a_query_stands_in_the_body_that_names_it(self, stage: Stage) -> None:
        web = stage.web()
        found = open_sample(DATA / "diagrams" / "query_answer_in_body.json")

        running = stage.run(
            found, (webhooks_of(found)[0], {"address": BOB, "data": {"free": "forged"}})
        )

        assert running.failure == ""
        assert [request.body for request in web.sent] == ["free:\u00a0247547297012"]

    @pytest.mark.parametrize(
        ("path", "step", "text"),
        [
            ("eventData.content.who", 1, "Ann"),
            ("eventData.data.free", 2, "247547297012"),
            # As the editor spells what the chain calls max_size.
            ("eventData.data.maxSize", 2, "7"),
            ("eventData.price", 3, "5"),
            ("headers.x-a", 3, "1"),
        ],
    )
    def test_each_kind_of_step_gives_what_the_editor_calls_so(
        self, stage: Stage, path: str, step: int, text: str
    ) -> None:
        running = self.run(stage, path, step)

        assert running.failure == ""
        assert text_of(running.drafts[-1]) == text

    @pytest.mark.parametrize(
        ("path", "step", "reason"),
        [
            (
                "eventData.data.free",
                1,
                "needs 'data.free', which is not in the data of step 1 ('a')",
            ),
            ("eventData.content.who", 2, "needs 'who', which is not in the data of step 2 ('b')"),
            ("eventData.content.who", 5, "needs 'who' of step 5, which provided no data"),
            (
                "if-else-separator-1",
                "undefined",
                "holds 'if-else-separator-1', which no step provides",
            ),
            ("eventData.content.who", 0, "holds 'eventData.content.who', which no step provides"),
        ],
    )
    def test_what_its_step_does_not_have_is_refused(
        self, stage: Stage, path: str, step: object, reason: str
    ) -> None:
        running = self.run(stage, path, step)

        assert running.drafts[-1].tx == NO_TRANSACTION
        assert running.failure.endswith(f": source.target {reason}")

    def found(self, path: str, step: object) -> Diagram:
        """Return a webhook, a query, a request, another webhook and a Remark with the pill, in this
        order."""
        query = {
            "selectedChain": "polkadot",
            "selectedPallet": "System",
            "selectedMethod": {"name": "Account"},
        }
        return diagram(
            webhook(),
            ("chainQuery", {**query, "methodInput": BOB}),
            ("http", {"url": "https://example.org/"}),
            webhook(OTHER),
            remark(editor_pill(path, step)),
            edges="ab bc cd de",
        )

    def run(self, stage: Stage, path: str, step: object) -> Run:
        stage.web({"price": 5})
        return stage.run(self.found(path, step), (UUID, {"who": "Ann"}), (OTHER, {"who": "Bob"}))


class TestIndex:
    def test_a_stored_scenario_names_its_webhooks(self, stage: Stage) -> None:
        found = diagram(
            webhook(UUID.upper()),
            webhook(),
            webhook("{{ uuid }}"),
            webhook("x"),
            webhook(OTHER),
            ("delay", {}),
        )

        async def go() -> tuple[str, ...]:
            id = await store_document(stage.app, found.document)
            return (await stage.app.store.get_scenario(id)).webhooks

        assert webhooks_of(found) == (UUID, OTHER)
        assert sorted(finish(go())) == sorted((UUID, OTHER))


def test_a_chain_that_refuses_is_told_of(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unreachable(*_: object, **__: object) -> None:
        raise ChainUnreachable("Polkadot cannot be reached")

    monkeypatch.setattr("scenarioctl.actions.remark.draft_remark", unreachable)
    running = stage.run(diagram(remark("x")))

    assert running.lines == [says("generate", "transaction")]
    assert running.drafts[0].chain == "polkadot"
