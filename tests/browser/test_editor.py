"""The step editor in headless Chromium: create, change, reorder, undo, and what must not get
lost."""

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.browser.editor import (
    FLOW,
    box,
    choose,
    problems,
    saved,
    steps,
    stored,
    type_in,
    typing_quickly,
    value,
)
from tests.browser.page import Daemon, Page
from tests.browser.reading import barriers_everywhere, violations
from tests.browser.scenarios import UUID, a_flow, a_remark, post
from tests.conftest import BOB
from tests.test_check import ALICE

pytestmark = pytest.mark.acceptance

#: An account that a pallet owns.
PALLET = "0x6d6f646c70792f74727372790000000000000000000000000000000000000000"

#: Step type -> what is typed and chosen, and the step of the flow that this makes.
TYPED: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "Transfer": (
        {"source_chain": "assetHub", "dest_chain": "hydraDx", "assetid": "1984", "amount": "2.5",
            "destination_address": BOB},
        {"type": "xTransfer", "source_chain": "assetHub", "dest_chain": "hydraDx",
            "destination_address": BOB, "amount": "2.5", "assetid": "1984"},
    ),
    "Swap": (
        {"assetin": "DOT", "assetout": "HDX", "amount": "2", "slippage": "0.5"},
        {"type": "swap", "assetin": "DOT", "assetout": "HDX", "amount": "2", "slippage": "0.5"},
    ),
    "Remark": ({"chain": "kusama", "text": "two\nlines"}, {"type": "Remark", "chain": "kusama",
        "text": "two\nlines"}),
    "Query": (
        {"chain": "polkadot", "pallet_name": "system", "method_name": "account", "params": ALICE},
        {"type": "chainQuery", "chain": "polkadot", "pallet_name": "System",
            "method_name": "Account", "params": [ALICE]},
    ),
    "Call": (
        {"chain": "polkadot", "pallet_name": "System", "method_name": "remark",
            "params": "remark: 0x68"},
        {"type": "chainTx", "chain": "polkadot", "pallet_name": "System", "method_name": "remark",
            "params": {"remark": "0x68"}},
    ),
    "Delay": ({"seconds": "90"}, {"type": "delay", "seconds": 90}),
    "Condition": (
        {"when": "now > 2026-12-01", "else": "end"},
        {"type": "condition", "when": "now > 2026-12-01", "else": "end"},
    ),
    "Webhook": ({"name": "payments"}, {"type": "webhook", "name": "payments"}),
    "HTTP request": (
        {"method": "POST", "url": "https://example.org/hook"},
        {"type": "http", "url": "https://example.org/hook", "method": "POST"},
    ),
}  # fmt: skip


def test_each_step_type_is_created_from_its_form(page: Page, daemon: Daemon) -> None:
    page.open("/#/new/flow")
    page.wait_for("Which step comes first?")
    for number, (kind, (typed, _)) in enumerate(TYPED.items()):
        if number:
            page.press("Add a step")
        page.press(kind)
        for name, given in typed.items():
            if name in ("else", "method") or name.endswith("chain") or name.startswith("asset"):
                choose(page, name, given, number)
            else:
                type_in(page, number, name, given)
    page.fill("flow_name", "All of them")
    assert page.complaints() == []
    page.press("Create")

    flow = stored(daemon, saved(page))
    assert flow["name"] == "All of them"
    for step, (_, wanted) in zip(flow["steps"], TYPED.values(), strict=True):
        assert {name: step[name] for name in wanted} == wanted


def test_all_fields_with_a_problem_say_it_at_once(page: Page) -> None:
    page.open("/#/new/transfer")
    choose(page, "assetid", "")
    type_in(page, 0, "amount", "a lot")
    type_in(page, 0, "destination_address", "nobody")
    page.press("Create")
    page.wait_for("3 problems to fix")

    assert problems(page) == {
        "assetid": "Asset is missing.",
        "amount": (
            "Amount 'a lot' is not a number, expected digits with an optional point, like 1.5"
        ),
        "destination_address": "Receiver 'nobody' is not an address, expected an SS58 address like "
        "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a 0x public key of 32 bytes",
    }
    assert page.browser.switch_to.active_element.get_attribute("name") == "assetid"
    assert page.complaints() == []


@pytest.fixture
def quick(page: Page) -> Iterator[None]:
    with typing_quickly(page):
        yield


@pytest.mark.usefixtures("quick")
def test_changes_are_undone_and_done_again(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/edit/{a_flow(daemon, FLOW)}")
    page.wait(lambda: len(steps(page)) == 4)
    before = steps(page)
    page.click("[aria-label='Remove step 1, Webhook']")
    page.wait(lambda: len(steps(page)) == 3)
    type_in(page, 0, "text", "changed")
    changed = steps(page)

    box(page, 0, "text").send_keys(Keys.CONTROL, "z")
    assert value(page, 0, "text") == "first"
    page.press("Undo")
    assert steps(page) == before
    page.press("Redo")
    page.press("Redo")
    assert steps(page) == changed
    assert value(page, 0, "text") == "changed"
    assert not page.find(".editor-form > .actions button:last-child").is_enabled()
    assert page.complaints() == []


def test_steps_are_dragged(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/edit/{a_flow(daemon, FLOW)}")
    page.wait(lambda: len(steps(page)) == 4)
    page.find(".editor-picture .node")
    # Closed cards fit into the window.
    for title in page.browser.find_elements("css selector", ".step-title"):
        title.click()
    handles = page.browser.find_elements("css selector", ".step-handle")

    ActionChains(page.browser).move_to_element(handles[3]).click_and_hold().move_to_element(
        handles[1]
    ).move_by_offset(0, -10).release().perform()

    page.wait(lambda: steps(page)[1] == "2. Delay 60 s")
    assert [title.split(" ", 1)[1] for title in steps(page)] == [
        "Webhook payouts",
        "Delay 60 s",
        "Remark “first” · Polkadot",
        "Remark “second” · Polkadot",
    ]
    page.press("Undo")
    assert steps(page)[3] == "4. Delay 60 s"


def test_the_data_of_an_earlier_step_is_picked(page: Page, daemon: Daemon) -> None:
    scenario = a_flow(daemon, FLOW)
    post(daemon, f"/webhook/{UUID}", {"address": BOB, "reason": "rent"})
    page.open(f"/#/edit/{scenario}")
    text = box(page, 1, "text")
    text.send_keys(" for ")
    page.click("[aria-label='Insert data of an earlier step into Text']")
    page.wait(
        lambda: (
            page.browser.execute_script(
                "return [...document.querySelectorAll('#data-list option')].map(e => "
                "e.value).join()"
            )
            == "address,reason"
        )
    )
    page.fill("data_path", "reason", within="dialog")
    page.press("Insert")

    page.wait(lambda: text.get_attribute("value") == "first for {{ webhook1.reason }}")
    page.wait_for("Text waits for webhook data: {{ webhook1.reason }}")
    assert problems(page) == {}
    page.press("Save")
    saved(page)
    flow = stored(daemon, scenario)
    assert flow["steps"][1]["text"] == f"first for {{{{ {flow['steps'][0]['id']}.reason }}}}"


def test_a_conflict_is_told_before_somebody_chooses(page: Page, daemon: Daemon) -> None:
    ours: list[dict[str, Any]] = [
        {"type": "Remark", "chain": "polkadot", "text": "ours"},
        {"type": "delay", "seconds": 60},
    ]
    scenario = a_flow(daemon, {"name": "Rent", "steps": ours})
    page.open(f"/#/edit/{scenario}")
    type_in(page, 0, "text", "mine")
    page.fill("flow_name", "Rent of May")
    theirs = {"name": "Rent", "steps": [{"type": "Remark", "chain": "polkadot", "text": "theirs"}]}
    post(daemon, "/api/scenario/replace", {"id": scenario, "content": theirs})
    page.press("Save")

    page.wait_for("Somebody else has changed this scenario", "Look at theirs")
    assert page.browser.switch_to.active_element.accessible_name == "Two versions"
    assert stored(daemon, scenario)["steps"][0]["text"] == "theirs"
    assert violations(page) == []
    page.press("Replace theirs with mine")
    saved(page)
    flow = stored(daemon, scenario)
    assert (flow["name"], flow["steps"][0]["text"], len(flow["steps"])) == (
        "Rent of May",
        "mine",
        2,
    )


def test_a_reload_keeps_the_changes(page: Page, daemon: Daemon) -> None:
    scenario = a_flow(daemon, FLOW)
    page.open(f"/#/edit/{scenario}")
    type_in(page, 1, "text", "not saved yet")
    page.browser.refresh()

    page.wait_for("Your unsaved changes are back.")
    assert value(page, 1, "text") == "not saved yet"
    page.press("Discard them")
    page.wait(lambda: value(page, 1, "text") == "first")
    assert "unsaved" not in page.text()
    page.browser.refresh()
    page.wait(lambda: len(steps(page)) == 4)
    assert "unsaved" not in page.text()


def test_a_link_away_from_changes_asks_first(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/edit/{a_remark(daemon)}")
    type_in(page, 0, "text", "changed")
    page.click(".brand")
    assert page.answer("Stay").startswith("Leave without saving?\nYour changes will be lost.")
    assert "#/edit/" in page.browser.current_url
    assert value(page, 0, "text") == "changed"

    assert page.browser.switch_to.active_element.text == "scenarioctl"
    page.click(".brand")
    page.answer("Leave")
    page.wait(lambda: page.browser.current_url.endswith("#/"))
    page.browser.back()
    page.wait(lambda: value(page, 0, "text") == "hello")


def test_a_receiver_without_a_key_is_confirmed(page: Page, daemon: Daemon) -> None:
    page.open("/#/new/transfer")
    type_in(page, 0, "amount", "1")
    type_in(page, 0, "destination_address", PALLET)
    page.press("Create")
    assert "nobody holds its key: funds sent there are lost." in page.answer("Cancel")
    page.wait_for("nobody holds its key")
    page.press("Create")
    page.answer("Create anyway")

    [step] = stored(daemon, saved(page))["steps"]
    assert step["yes"] is True


def test_axe_finds_nothing_in_the_editor(page: Page, daemon: Daemon) -> None:
    scenario = a_flow(daemon, FLOW)
    found: dict[str, Any] = {}

    def judge(step: str) -> None:
        if each := barriers_everywhere(page):
            found[step] = each

    page.open("/#/new/flow")
    page.wait_for("Which step comes first?")
    judge("empty")
    page.open(f"/#/edit/{scenario}")
    page.wait(lambda: page.browser.find_elements("css selector", ".editor-picture .node"))
    for summary in page.browser.find_elements("css selector", ".step-card summary"):
        page.browser.execute_script("arguments[0].parentElement.open = true", summary)
    order = box(page, 2, "order")
    Select(order).select_by_value("chosen")
    type_in(page, 3, "seconds", "soon")
    page.press("Save")
    page.wait_for("1 problem to fix")
    judge("flow with problems")
    page.click("[aria-label='Insert data of an earlier step into Text']")
    page.wait_for("Insert data of an earlier step")
    judge("picker")
    page.press("Cancel")
    page.open("/#/new/swap")
    box(page, 0, "amount")
    judge("swap")

    assert found == {}
