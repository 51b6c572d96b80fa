"""The runs of a job in a browser: one by one, the newest first, as many lines and drafts as there
are."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.model.jobs import (
    SECOND,
    FinishedRun,
    Retention,
    SentState,
    SentTransaction,
    StepOutcome,
    StepResult,
)
from scenarioctl.stores import open_store
from tests.browser.page import LONG_TASKS, Daemon, Page
from tests.browser.reading import barriers, look
from tests.browser.scenarios import UNREACHABLE, a_flow, a_remark, a_transfer, post
from tests.runner import finish as act
from tests.test_store_jobs import DRAFT

pytestmark = pytest.mark.acceptance

#: Milliseconds that no task of the page takes: the goal is 100, and a busy machine is slower; a
#: page that stands still takes 10 000.
LONGEST = 3000


def summaries(page: Page) -> list[str]:
    found = page.browser.execute_script(
        "return [...document.querySelectorAll('.runs summary')]"
        ".filter(e => e.parentElement.parentElement.dataset.run).map(e => e.innerText)"
    )
    return [str(each) for each in found]


def opened(page: Page, scenario: str) -> None:
    page.open(f"/#/create/?diagramData={scenario}")
    page.wait_for("Run now")


def leave(
    folder: Path,
    scenario: str,
    *runs: tuple[int, int],
    steps: Mapping[str, StepResult] | None = None,
) -> None:
    """Store runs with so many lines and drafts."""
    store = open_store(folder / "scenarios.db")
    now = 1_763_666_958_000_000_000
    limit = Retention(log_lines=50_000, mempool_entries=5_000)
    for number, (lines, drafts) in enumerate(runs):
        began = now + number * 60 * SECOND
        run = FinishedRun(
            job=scenario,
            epoch=None,
            planned=began,
            started=began,
            finished=began + 2 * SECOND,
            lines=tuple(f"line {number}.{each}" for each in range(lines)),
            drafts=tuple(replace(DRAFT, date=began + SECOND + each) for each in range(drafts)),
            steps=steps or {},
        )
        assert act(store.finish_run(run, retention=limit))
    act(store.close())


def sent(folder: Path, **more: Any) -> SentTransaction:
    """Store a transaction that was sent."""
    transaction = SentTransaction(
        chain="polkadot", hash="0x" + "ab" * 32, sent=1, at_block=1, searched=1, **more
    )
    store = open_store(folder / "scenarios.db")
    assert act(store.sent().add(transaction)) is None
    act(store.close())
    return transaction


def lose_newest(folder: Path) -> None:
    """Let the second run and what it left be lost, and another one have come in a new timeline, as
    in a failover."""
    first = 1 << 40
    with closing(sqlite3.connect(folder / "scenarios.db", isolation_level=None)) as database:
        for table, kept in (("runs", 1), ("log_lines", 3), ("mempool", 1)):
            database.execute(f"UPDATE {table} SET seq = seq + {first} WHERE seq > {kept}")
            database.execute(
                f"UPDATE sqlite_sequence SET seq = seq + {first} WHERE name = '{table}'"
            )
            database.execute(
                f"INSERT INTO forks (counter, last, first) VALUES ('{table}', {kept}, {first})"
            )


def test_runs_that_a_failover_has_lost_go_from_the_page(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    leave(daemon.folder, scenario, (3, 1), (3, 1))
    opened(page, scenario)
    page.wait(lambda: len(summaries(page)) == 2)
    lose_newest(daemon.folder)
    page.press("Run now")
    first = 1 << 40

    page.wait(
        lambda: (
            [each.split(",")[0].split()[-1] for each in summaries(page)]
            == [str(first + 3), str(first + 2), "1"]
        )
    )


def test_runs_come_newest_first_and_the_newest_is_open(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_transfer(daemon)
    opened(page, scenario)
    page.wait_for("No runs yet.")

    page.press("Run now")
    page.wait_for("workload executed")
    page.press("Run now")
    page.wait(lambda: len(summaries(page)) == 2)

    assert [each.split(",")[0] for each in summaries(page)] == [
        "succeeded Run 2",
        "succeeded Run 1",
    ]
    assert all("1 draft" in each for each in summaries(page))
    page.wait(
        lambda: (
            len(page.browser.find_elements("css selector", ".runs details[open][open] .log")) == 1
        )
    )
    assert "xTransfer polkadot, 1.5 DOT" in page.text()
    amount = page.find(".mempool .amount")
    assert (amount.text, amount.get_attribute("title")) == (
        "1.5 DOT",
        "15000000000 in the smallest unit",
    )
    sign = page.find(".mempool a.button")
    assert str(sign.get_attribute("href")).endswith(f"#/sign/?job={scenario}&draft=2")
    look(page)
    assert page.complaints() == []


def test_a_failed_run_is_red_and_says_why(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_flow(daemon, {"steps": [UNREACHABLE]})
    opened(page, scenario)
    page.press("Run now")
    page.wait(lambda: summaries(page))

    (summary,) = summaries(page)
    assert summary.startswith("failed Run 1")
    assert "127.0.0.1:9" in summary
    assert page.value_of("li[data-run]", "class") == "failed"
    page.wait_for("workload executed")
    # Its last line alone would say that all went well.
    assert page.text_of(".log .wrong")
    look(page)


def test_a_job_is_paused_resumed_rescheduled_and_stopped(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    opened(page, scenario)
    page.fill("every", "1h")
    page.press("Start")
    page.wait_for("every 1h, next run in")
    page.wait(lambda: summaries(page))
    page.press("Pause")
    page.wait_for("paused on request")
    page.press("Resume")
    page.wait(lambda: "paused on request" not in page.text())
    page.click("[aria-labelledby=job] summary")
    page.fill("every", "2h", within="[aria-labelledby=job] details")
    page.press("Change")
    page.wait_for("every 2h")
    # A paused one is stopped too.
    page.press("Pause")
    page.wait_for("paused on request")
    page.press("Stop")
    page.wait_for("not running")

    assert page.find("[name=every]").is_displayed()
    look(page)
    assert page.complaints() == []


def test_a_run_elsewhere_is_seen_as_it_ends(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    opened(page, scenario)
    page.wait_for("No runs yet.")

    post(daemon, "/job/run", {"id": scenario})

    page.wait(lambda: len(summaries(page)) == 1)
    page.wait_for("workload executed")


def test_a_run_that_waits_shows_its_lines_meanwhile(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    flow = {
        "steps": [
            {"type": "Remark", "chain": "polkadot", "text": "x"},
            {"type": "delay", "seconds": 3600},
        ]
    }
    scenario = a_flow(daemon, flow)
    opened(page, scenario)
    page.press("Start")

    page.wait_for("Run in progress")
    page.wait_for("Drafted polkadot > Remark > polkadot")
    page.wait_for("a run is in progress")
    look(page)


def test_a_large_log_and_many_drafts_open_without_a_long_task(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    daemon.stop()
    leave(daemon.folder, scenario, (3, 1), (10_000, 1_000))
    daemon.start()
    with page.with_script(LONG_TASKS):
        longest = []
        # Other programs of a busy machine make tasks longer, never shorter.
        for _ in range(6):
            opened(page, scenario)
            page.wait_for("line 1.9999")
            page.wait_for("Show older lines")
            page.wait_for("Show older drafts")
            page.press("Show older lines")
            page.wait(lambda: "line 1.0\n" in shown_lines(page) + "\n")
            page.press("Show older drafts")
            page.wait(
                lambda: (
                    len(page.browser.find_elements("css selector", ".mempool .chunk > ol > li"))
                    == 1000
                )
            )
            longest.append(max(page.browser.execute_script("return window.tasks"), default=0))
            if longest[-1] < LONGEST:
                break

        count = page.browser.execute_script(
            "return document.querySelectorAll('.log .chunk > ol > li').length"
        )
        assert count == 10_000
        assert min(longest) < LONGEST, longest
        assert page.complaints() == []


def shown_lines(page: Page) -> str:
    return str(
        page.browser.execute_script(
            "return document.querySelector('.log .chunk li:first-child span')?.textContent ?? ''"
        )
    )


def test_older_runs_come_on_demand(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    daemon.stop()
    leave(daemon.folder, scenario, *[(2, 0)] * 45)
    daemon.start()
    opened(page, scenario)
    page.wait(lambda: len(summaries(page)) == 20)
    page.press("Show older runs")
    page.wait(lambda: len(summaries(page)) == 40)
    page.press("Show older runs")
    page.wait(lambda: len(summaries(page)) == 45)

    assert not page.find("[aria-labelledby=runs] > p button").is_displayed()
    page.browser.execute_script("document.querySelector(\"li[data-run='1'] summary\").click()")
    page.wait_for("line 0.1")


def test_runs_that_come_take_the_place_of_old_ones(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    leave(daemon.folder, scenario, *[(3, 1)] * 20)
    opened(page, scenario)
    page.wait(lambda: len(summaries(page)) == 20)
    page.browser.execute_script("document.querySelector(\"li[data-run='1'] summary\").click()")
    page.wait_for("line 0.1")

    for number in (21, 22, 23):
        leave(daemon.folder, scenario, (3, 1))
        page.wait(lambda number=number: f"Run {number}," in summaries(page)[0])  # type: ignore[misc]

    # The one that somebody reads stays; the others that were open have left nothing of their logs.
    numbers = [int(each.split(",")[0].split()[-1]) for each in summaries(page)]
    assert numbers == [*range(23, 3, -1), 1]
    page.wait(
        lambda: (
            page.browser.execute_script(
                "return [...document.querySelectorAll('.runs .body')].filter(e => "
                "e.firstChild).length"
            )
            == 2
        )
    )
    page.press("Show older runs")
    page.wait(lambda: len(summaries(page)) == 23)
    assert [int(each.split(",")[0].split()[-1]) for each in summaries(page)] == [*range(23, 0, -1)]


def test_a_draft_that_was_sent_is_marked(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    post(daemon, "/job/run", {"id": scenario})
    daemon.stop()
    transaction = sent(daemon.folder, job=scenario, draft=1)
    daemon.start()
    opened(page, scenario)

    page.wait_for("May have been sent")
    assert "Sign and send" not in page.text_of(".mempool")
    link = page.value_of(".mempool a", "href")
    assert link.endswith(f"#/tx/?chain=polkadot&hash={transaction.hash}")
    page.open("/")
    page.wait_for("Nothing needs you.")


def test_name_and_tags_are_changed_in_place(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_transfer(daemon)
    opened(page, scenario)
    assert page.text_of("main h1") == "1.5 DOT · Polkadot → Asset Hub"
    page.click(".title summary")
    page.fill("name", "Rent", within=".title")
    page.fill("tags", "monthly, home", within=".title")
    page.press("Save")

    page.wait(lambda: page.text_of("main h1") == "Rent")
    assert page.browser.title == "Rent – scenarioctl"
    stored = post(daemon, "/api/scenario/show", {"id": scenario})
    assert (stored["name"], stored["tags"]) == ("Rent", ["home", "monthly"])
    page.click(".title summary")
    page.fill("tags", "home", within=".title")
    page.fill("name", "x" * 201, within=".title")
    page.press("Save")
    page.wait_for("Name is 201 characters long")
    assert post(daemon, "/api/scenario/show", {"id": scenario})["name"] == "Rent"
    look(page)


def test_a_draft_whose_transaction_expired_can_be_signed_again(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    scenario = a_transfer(daemon)
    post(daemon, "/job/run", {"id": scenario})
    (row,) = post(daemon, "/scenario/tx", {"id": scenario})["mempool"]
    sent(daemon.folder, job=scenario, draft=row["seq"], state=SentState.EXPIRED)

    opened(page, scenario)
    page.wait_for("Sent, and expired")
    link = page.find(f".mempool a.primary[href='#/sign/?job={scenario}&draft={row['seq']}']")
    page.browser.execute_script("arguments[0].click()", link)
    page.wait_for("1. Account")
    assert "signed and sent before" not in page.text()


def test_an_expired_draft_is_made_anew_by_running_the_job_once_more(
    own: tuple[Page, Daemon],
) -> None:
    page, daemon = own
    scenario = a_remark(daemon)
    post(daemon, "/job/start", {"id": scenario, "every": "1h"})

    def drafts(count: int) -> list[int]:
        seqs = [row["seq"] for row in post(daemon, "/scenario/tx", {"id": scenario})["mempool"]]
        return seqs if len(seqs) == count else []

    def expire() -> None:
        with closing(
            sqlite3.connect(daemon.folder / "scenarios.db", isolation_level=None)
        ) as database:
            database.execute("UPDATE mempool SET expires = 1")

    page.wait(lambda: drafts(1))
    expire()
    opened(page, scenario)
    page.wait_for("The newest draft has expired. This runs the job once more now.")
    assert page.text_of(".next .primary") == "Make a new one"
    page.press("Make a new one")
    page.wait_for("Sign the newest draft")
    seqs = drafts(2)

    expire()
    page.open(f"/#/sign/?job={scenario}&draft={seqs[1]}")
    page.wait_for("This draft has expired.", "Runs the job once more now.")
    assert [each.text for each in page.browser.find_elements("css selector", "main .primary")] == [
        "Make a new one"
    ]
    look(page)
    page.press("Make a new one")
    page.wait_for("1. Account")
    assert page.browser.current_url.endswith(f"#/sign/?job={scenario}&draft={max(drafts(3))}")
    assert page.complaints() == []


def test_the_steps_of_a_run_are_drawn_in_parts(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    steps = [
        {"type": "Remark", "chain": "polkadot", "text": f"number {number}"} for number in range(120)
    ]
    scenario = a_flow(daemon, {"steps": steps})
    post(daemon, "/job/run", {"id": scenario})
    count = """
        window.most = 0;
        new MutationObserver((changes) => {
          const rows = changes.flatMap(({addedNodes}) => [...addedNodes]).flatMap((each) => [...(each.querySelectorAll?.(".run-steps > li") ?? []), ...(each.matches?.(".run-steps > li") ? [each] : [])]);
          window.most = Math.max(window.most, rows.length);
        }).observe(document, {subtree: true, childList: true});
        """
    with page.with_script(count):
        opened(page, scenario)
        page.wait(lambda: len(page.browser.find_elements("css selector", ".run-steps > li")) == 120)

    assert 0 < page.browser.execute_script("return window.most") <= 60


def test_a_run_shows_its_steps_and_is_compared_with_another(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    steps: list[dict[str, Any]] = [
        {"type": "Remark", "chain": "polkadot", "text": "x"},
        {"type": "delay", "seconds": 0.01},
        {"type": "Remark", "chain": "polkadot", "text": "y"},
    ]
    scenario = a_flow(daemon, {"steps": steps})
    page.open(f"/#/create/?diagramData={scenario}")
    page.press("Run now")
    page.wait(lambda: len(summaries(page)) == 1)
    page.wait_for(
        "1. Remark",
        "2. delay",
        "3. Remark",
        "'x' on Polkadot",
        "Drafted polkadot > Remark > polkadot",
    )
    page.press("Run again")
    page.wait(lambda: len(summaries(page)) == 2)
    nodes = post(daemon, "/api/scenario/show", {"id": scenario})["nodes"]
    one, other = (node["id"] for node in nodes if node["step"] == "Remark")
    done, failed = (
        StepResult(outcome=each, seconds=1.5, input="GET /", output="o" * 1000, length=3000)
        for each in (StepOutcome.DONE, StepOutcome.FAILED)
    )
    leave(daemon.folder, scenario, (1, 0), steps={one: done, other: failed})
    post(daemon, "/job/run", {"id": scenario})
    page.wait(lambda: len(summaries(page)) == 4)

    click = "document.querySelector(arguments[0]).click()"
    page.browser.execute_script(click, "li[data-run='3'] summary")
    page.wait_for("not reached")
    page.browser.execute_script(click, "li[data-run='3'] .run-steps summary")
    page.wait_for("Output, 3000 characters", "The first 1000 are stored.")
    page.choose("li[data-run='3'] .compare select", "1")
    page.wait_for("3 of 3 steps differ.")
    heads = [
        each.text.split(",")[0]
        for each in page.browser.find_elements("css selector", ".runs thead th")
    ]
    assert heads == ["Run 1", "Run 3"]
    differing = [
        each.text for each in page.browser.find_elements("css selector", ".runs tr.differs th")
    ]
    assert [each.split(" (")[0].split("\n")[0] for each in differing] == [
        "Drafts",
        "1. Remark",
        "2. delay",
        "3. Remark",
    ]
    assert barriers(page) == []
    with page.screen(390, touch=True):
        assert barriers(page) == []
    look(page)


def test_a_run_that_waits_says_for_what_and_until_when(own: tuple[Page, Daemon]) -> None:
    page, daemon = own
    uuid = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
    steps: list[dict[str, Any]] = [
        {"type": "Remark", "chain": "polkadot", "text": "x"},
        {"type": "webhook", "name": "payments", "uuid": uuid, "timeout": 7200},
    ]
    scenario = a_flow(daemon, {"steps": steps})
    opened(page, scenario)
    page.press("Start")

    page.wait_for(f"step 2 waits for a POST to /webhook/{uuid} until in 1 hour")
    assert "next run" not in page.text_of("[aria-labelledby=job] .state")
    status = post(daemon, "/job/status", {"id": scenario})
    assert (status["step_number"], status["until"]) == (2, status["next"])
