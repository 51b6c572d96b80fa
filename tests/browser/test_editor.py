"""The step editor in headless Chromium: create, change, reorder, undo, and what must not get
lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.browser.editor import (
    FLOW,
    box,
    choose,
    chord,
    problems,
    saved,
    steps,
    stored,
    type_in,
    typing_quickly,
    value,
)
from tests.browser.page import LONG_TASKS, Daemon, Page, served
from tests.browser.reading import AXE, barriers, look, needs_axe, violations
from tests.browser.scenarios import ATTACK, UUID, a_flow, a_remark, a_transfer, diagram_of, post
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


@pytest.mark.parametrize("kind", TYPED)
def test_each_step_type_is_created_from_its_form(page: Page, daemon: Daemon, kind: str) -> None:
    typed, wanted = TYPED[kind]
    page.open("/#/new/flow")
    page.wait_for("Which step comes first?")
    page.press(kind)
    for name, given in typed.items():
        element = box(page, 0, name)
        if element.tag_name == "select":
            choose(page, name, given)
        else:
            type_in(page, 0, name, given)
    page.fill("flow_name", f"My {kind}")
    assert page.complaints() == []
    page.press("Create")

    flow = stored(daemon, saved(page))
    for step in flow["steps"]:
        step.pop("uuid", None)
    assert flow == {"name": f"My {kind}", "steps": [wanted]}


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


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("123456789012345678901234567", "is more DOT than can exist: check its digits"),
        ("1.12345678901", "has too many decimals, DOT has 10"),
        ("0", "is zero, expected a number above zero"),
    ],
)
def test_an_amount_that_cannot_be_is_said_at_its_field(page: Page, amount: str, said: str) -> None:
    for path in ("/#/new/transfer", "/#/new/swap"):
        page.open(path)
        if "swap" in path:
            choose(page, "assetin", "DOT")
            choose(page, "assetout", "HDX")
        type_in(page, 0, "amount", amount)
        page.click("[name=flow_name]")
        page.wait(lambda: "amount" in problems(page))
        assert said in problems(page)["amount"]
        page.press("Create")
        page.wait(lambda: "#/new/" in page.browser.current_url and problems(page))
        page.browser.execute_script("sessionStorage.clear()")


def test_problems_of_several_steps_are_shown_together(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/edit/{a_flow(daemon, FLOW)}")
    type_in(page, 0, "name", " ")
    type_in(page, 2, "text", " ")
    type_in(page, 3, "seconds", "soon")
    page.press("Save")
    page.wait_for("problems to fix")

    assert set(problems(page)) == {"name", "text", "seconds"}
    assert [title for title in steps(page) if "1 problem" in title] == [
        title for number, title in enumerate(steps(page)) if number in (0, 2, 3)
    ]


def test_nothing_is_wrong_before_somebody_has_typed(page: Page) -> None:
    page.open("/#/new/transfer")
    page.wait(lambda: page.browser.find_elements("css selector", ".editor-picture img[src]"))
    type_in(page, 0, "amount", "x")
    assert problems(page) == {}

    box(page, 0, "destination_address").click()
    page.wait(lambda: "amount" in problems(page))

    assert list(problems(page)) == ["amount"]
    type_in(page, 0, "amount", "1")
    page.wait(lambda: problems(page) == {})


def test_the_picture_is_drawn_again_while_somebody_types(page: Page) -> None:
    page.open("/#/new/remark")
    image = page.find(".editor-picture img[src]")
    before = image.get_attribute("src")
    type_in(page, 0, "text", "drawn as it is typed")
    page.wait(lambda: image.get_attribute("src") != before)

    drawn = page.browser.execute_script("return atob(arguments[0].src.split(',')[1])", image)
    page.wait(
        lambda: (
            "drawn as it is typed"
            in page.browser.execute_script("return atob(arguments[0].src.split(',')[1])", image)
        )
    )
    assert drawn.startswith("<svg")
    assert page.complaints() == []


def test_a_single_step_has_no_list_around_it(page: Page) -> None:
    page.open("/#/new/remark")
    box(page, 0, "text")

    assert "Runs after" not in page.text()
    assert not any(
        each.is_displayed()
        for each in page.browser.find_elements("css selector", ".step-head, .insert")
    )
    page.press("Add a step")
    page.press("Delay")
    page.wait(lambda: steps(page) == ["1. Remark Polkadot", "2. Delay 60 s"])
    assert page.browser.switch_to.active_element.get_attribute("name") == "seconds"


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


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "focus",
    ["", "[name=flow_name]", "[name=seconds]", ("[aria-label='Remove step 2, "
"Remark']"), "summary", "[type=submit]", ".brand"],
)  # fmt: skip
def test_changes_are_undone_by_keyboard_wherever_the_focus_is(
    page: Page, daemon: Daemon, focus: str
) -> None:
    page.open(f"/#/edit/{a_flow(daemon, FLOW)}")
    type_in(page, 1, "text", "second change")
    page.click("[aria-label='Move step 3, Remark up']")
    page.click("[aria-label='Remove step 1, Webhook']")
    after = steps(page)
    page.browser.execute_script(
        (
            "if (arguments[0]) document.querySelector(arguments[0]).focus(); else "
            "document.activeElement.blur()"
        ),
        focus,
    )
    focused = page.browser.switch_to.active_element

    chord(page, Keys.CONTROL, "z")
    page.wait(lambda: len(steps(page)) == 4)
    chord(page, Keys.META, "z")
    page.wait(lambda: steps(page)[1] == "2. Remark “second change” · Polkadot")
    chord(page, Keys.CONTROL, "z")
    page.wait(lambda: steps(page)[1] == "2. Remark “first” · Polkadot")
    assert page.browser.switch_to.active_element == focused
    for keys in (
        (Keys.CONTROL, "y"),
        (Keys.CONTROL, Keys.SHIFT, "z"),
        (Keys.META, Keys.SHIFT, "z"),
    ):
        chord(page, *keys)
    page.wait(lambda: steps(page) == after)
    chord(page, Keys.CONTROL, "y")
    page.wait_for("Nothing to redo")
    assert page.complaints() == []


@pytest.mark.usefixtures("quick")
def test_one_edit_is_undone_at_once(page: Page) -> None:
    page.open("/#/new/transfer")
    choose(page, "assetid", "DOT")
    choose(page, "source_chain", "kusama")
    # A chain brings its own asset.
    page.wait(lambda: value(page, 0, "assetid") == "KSM")
    choose(page, "dest_chain", "kusama")
    choose(page, "dest_chain", "assetHub_kusama")
    box(page, 0, "amount").send_keys("1.2")
    box(page, 0, "destination_address").click()
    box(page, 0, "amount").send_keys("55")

    for wanted in (
        ["kusama", "KSM", "assetHub_kusama", "1.2"],
        ["kusama", "KSM", "assetHub_kusama", ""],
        ["kusama", "KSM", "kusama", ""],
        ["kusama", "KSM", "assetHub", ""],
        ["polkadot", "DOT", "assetHub", ""],
    ):
        chord(page, Keys.CONTROL, "z")
        assert [
            value(page, 0, name) for name in ("source_chain", "assetid", "dest_chain", "amount")
        ] == wanted
    chord(page, Keys.CONTROL, "z")
    page.wait_for("Nothing to undo")


@pytest.mark.usefixtures("quick")
def test_an_inserted_placeholder_is_undone_at_once(page: Page, daemon: Daemon) -> None:
    flow = {
        "steps": [
            {
                "type": "chainQuery",
                "chain": "polkadot",
                "pallet_name": "System",
                "method_name": "Number",
            },
            {"type": "Remark", "chain": "polkadot", "text": "at "},
        ]
    }
    page.open(f"/#/edit/{a_flow(daemon, flow)}")
    box(page, 1, "text")
    page.click("[aria-label='Insert data of an earlier step into Text']")
    page.answer("Insert")
    page.wait(lambda: value(page, 1, "text") == "at {{ query1 }}")
    assert value(page, 0, "step_id") == "query1"

    chord(page, Keys.CONTROL, "z")
    page.wait(lambda: value(page, 1, "text") == "at ")
    assert value(page, 0, "step_id") == ""
    assert not page.find(".editor-form > .actions button").is_enabled()


def test_steps_are_moved_by_keyboard(page: Page, daemon: Daemon) -> None:
    scenario = a_flow(daemon, FLOW)
    page.open(f"/#/edit/{scenario}")
    page.wait(lambda: len(steps(page)) == 4)
    page.browser.execute_script(
        "arguments[0].focus()", page.find("[aria-label='Move step 2, Remark down']")
    )
    page.keys(Keys.ENTER)

    page.wait_for("Remark is step 3 of 4")
    # The focus stays on the button, for the next move.
    page.keys(Keys.ENTER)
    page.wait_for("Remark is step 4 of 4")
    page.press("Save")
    saved(page)
    assert [step.get("text", step["type"]) for step in stored(daemon, scenario)["steps"]] == [
        "webhook",
        "second",
        "delay",
        "first",
    ]


def test_steps_are_dragged(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/edit/{a_flow(daemon, FLOW)}")
    page.wait(lambda: len(steps(page)) == 4)
    page.find(".editor-picture img[src]")
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


def test_a_step_runs_after_chosen_steps(page: Page, daemon: Daemon) -> None:
    scenario = a_flow(daemon, FLOW)
    page.open(f"/#/edit/{scenario}")
    page.wait(lambda: len(steps(page)) == 4)
    card = page.browser.find_elements("css selector", ".step-card")[2]
    card.find_element("css selector", "summary").click()
    Select(box(page, 2, "order")).select_by_value("chosen")
    labels = card.find_elements("css selector", ".order label")
    assert [label.text for label in labels] == [
        "1. Webhook payouts",
        "2. Remark “first” · Polkadot",
        "4. Delay 60 s",
    ]
    # Beside the remark above, and not after it.
    labels[0].click()
    card.find_elements("css selector", ".order label")[1].click()
    page.wait(lambda: "runs after 1" in steps(page)[2])
    page.press("Save")
    saved(page)

    flow = stored(daemon, scenario)
    assert flow["steps"][2]["after"] == [flow["steps"][0]["id"]]


def test_steps_that_wait_for_each_other_are_said_at_the_order(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/edit/{a_flow(daemon, FLOW)}")
    page.wait(lambda: len(steps(page)) == 4)
    card = page.browser.find_elements("css selector", ".step-card")[0]
    card.find_element("css selector", "summary").click()
    Select(box(page, 0, "order")).select_by_value("chosen")
    card.find_elements("css selector", ".order label")[0].click()

    page.wait_for("the steps wait for each other in a cycle: 'step 1 > step2 > step 1'")
    page.press("Save")
    page.wait_for("1 problem to fix")
    assert "#/edit/" in page.browser.current_url


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


def test_a_scenario_is_changed_in_place(page: Page, daemon: Daemon) -> None:
    scenario = a_transfer(daemon)
    page.open(f"/#/create/?diagramData={scenario}")
    page.click(f"a[href='#/edit/{scenario}']")
    type_in(page, 0, "amount", "3")
    page.fill("flow_name", "Rent")
    page.press("Save")

    assert saved(page) == scenario
    flow = stored(daemon, scenario)
    assert (flow["name"], flow["steps"][0]["amount"]) == ("Rent", "3")
    assert page.complaints() == []


def changed_by_two(page: Page, daemon: Daemon) -> str:
    """Save a scenario that somebody else has changed since it was opened; return its id."""
    scenario = a_remark(daemon, "ours")
    page.open(f"/#/edit/{scenario}")
    type_in(page, 0, "text", "mine")
    theirs = {"steps": [{"type": "Remark", "chain": "polkadot", "text": "theirs"}]}
    post(daemon, "/api/scenario/replace", {"id": scenario, "content": theirs})
    page.press("Save")
    return scenario


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(
    page: Page, daemon: Daemon
) -> None:
    scenario = changed_by_two(page, daemon)
    page.wait_for("Somebody else has changed this scenario since you opened it.")
    assert stored(daemon, scenario)["steps"][0]["text"] == "theirs"

    page.press("Save mine as a new scenario")
    copy = saved(page)
    assert copy != scenario
    assert stored(daemon, copy)["steps"][0]["text"] == "mine"
    assert stored(daemon, scenario)["steps"][0]["text"] == "theirs"


def differences(page: Page) -> list[str]:
    """Return the rows of the table that compares two versions."""
    page.wait_for("Somebody else has changed this scenario")
    return [
        " | ".join(cell.text for cell in row.find_elements("css selector", "th, td"))
        for row in page.browser.find_elements("css selector", ".conflict tbody tr")
    ]


def test_a_conflict_shows_what_differs_before_somebody_chooses(page: Page, daemon: Daemon) -> None:
    transfer = {
        "type": "xTransfer",
        "source_chain": "polkadot",
        "dest_chain": "assetHub",
        "assetid": "DOT",
    }
    ours = [
        {**transfer, "amount": "1", "destination_address": BOB},
        {"type": "Remark", "chain": "polkadot", "text": "x" * 300 + "ours"},
        {"type": "delay", "seconds": 60},
    ]
    scenario = a_flow(daemon, {"name": "Rent", "steps": ours})
    page.open(f"/#/edit/{scenario}")
    type_in(page, 0, "amount", "2")
    choose(page, "dest_chain", "hydraDx")
    page.fill("flow_name", "Rent of May")
    page.click("[aria-label='Remove step 3, Delay']")
    text = "x" * 300 + "theirs"
    theirs = [
        {"type": "webhook", "name": "paid"},
        {
            **transfer,
            "amount": "3",
            "destination_address": BOB,
            "allow_death": True,
            "dest_chain": "polkadot",
        },
        {"type": "Remark", "chain": "polkadot", "text": text},
        {"type": "delay", "seconds": 60},
    ]
    post(
        daemon,
        "/api/scenario/replace",
        {"id": scenario, "content": {"name": "Rent", "steps": theirs}},
    )
    page.press("Save")

    assert differences(page) == [
        "Name | Rent of May | Rent",
        "Step 1, Webhook | not there | paid",
        "Step 1, Transfer: Destination chain | Hydration | Polkadot",
        "Step 1, Transfer: Amount | 2 | 3",
        "Step 1, Transfer: Let the transfer close the sender's account | nothing | yes",
        f"Step 2, Remark: Text | …{'x' * 40}ours | …{'x' * 40}theirs",
        "Step 4, Delay | not there | 60 s",
    ]
    assert page.browser.switch_to.active_element.accessible_name == "Two versions"
    with page.screen(390):
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= 390
    if AXE.exists():
        assert violations(page) == []
    page.press("Replace theirs with mine")
    saved(page)
    flow = stored(daemon, scenario)
    assert (flow["name"], [step["type"] for step in flow["steps"]]) == (
        "Rent of May",
        ["xTransfer", "Remark"],
    )


def test_a_version_that_no_flow_holds_is_a_conflict_too(page: Page, daemon: Daemon) -> None:
    scenario = a_remark(daemon, "ours")
    page.open(f"/#/edit/{scenario}")
    type_in(page, 0, "text", "mine")
    post(daemon, "/api/scenario/replace", {"id": scenario, "content": diagram_of("odd")})
    page.press("Save")

    page.wait_for(f"scenario '{scenario}' cannot be written as a flow file")
    assert differences(page) == []
    assert "Replace theirs with mine" not in page.text()
    page.press("Save mine as a new scenario")
    assert stored(daemon, saved(page))["steps"][0]["text"] == "mine"


def test_the_version_of_somebody_else_is_loaded(page: Page, daemon: Daemon) -> None:
    scenario = changed_by_two(page, daemon)
    page.press("Discard mine and load theirs")

    page.wait(lambda: value(page, 0, "text") == "theirs")
    type_in(page, 0, "text", "both")
    page.press("Save")
    saved(page)
    assert stored(daemon, scenario)["steps"][0]["text"] == "both"


def test_a_running_job_uses_the_new_version_from_its_next_run(page: Page, daemon: Daemon) -> None:
    scenario = a_remark(daemon, "before")
    post(daemon, "/job/start", {"id": scenario, "every": "1s"})
    page.open(f"/#/edit/{scenario}")
    page.wait_for("The job of this scenario is running.")
    type_in(page, 0, "text", "behind")
    page.press("Save")
    saved(page)

    page.wait_for("Scenario changed: the next run uses the new version")
    state = post(daemon, "/job/status", {"id": scenario})["state"]
    post(daemon, "/job/stop", {"id": scenario})
    assert state == "running"


@pytest.mark.parametrize(("typed", "amount"), [("1,5", "1.5"), ("1.234,5", None), ("1,500", None)])
def test_a_decimal_comma_is_understood_or_refused_with_a_hint(
    page: Page, daemon: Daemon, typed: str, amount: str | None
) -> None:
    page.open("/#/new/swap")
    choose(page, "assetin", "DOT")
    choose(page, "assetout", "HDX")
    type_in(page, 0, "amount", typed)
    type_in(page, 0, "slippage", "0,5")
    page.press("Create")

    if amount is None:
        page.wait(lambda: "amount" in problems(page))
        assert list(problems(page)) == ["amount"]
        if typed == "1,500":
            assert problems(page)["amount"].endswith(
                "can mean 1500 or 1.5: write the one that you mean"
            )
        return
    [step] = stored(daemon, saved(page))["steps"]
    assert (step["amount"], step["slippage"]) == (amount, "0.5")


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


def test_changes_that_were_saved_are_not_kept(page: Page, daemon: Daemon) -> None:
    page.open("/#/new/remark")
    type_in(page, 0, "text", "saved")
    page.press("Create")
    saved(page)
    page.open("/#/new/remark")
    page.wait(lambda: value(page, 0, "text") is not None)

    assert value(page, 0, "text") == ""
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


def test_a_copy_is_changed_and_gets_webhooks_of_its_own(page: Page, daemon: Daemon) -> None:
    scenario = a_flow(daemon, FLOW)
    page.open(f"/#/duplicate/{scenario}")
    page.wait_for("The webhooks of the copy get addresses of their own.")
    type_in(page, 1, "text", "of the copy")
    page.press("Create the copy")

    copy = stored(daemon, saved(page))
    original = stored(daemon, scenario)
    assert copy["name"] == "Pay out (copy)"
    assert copy["steps"][1]["text"] == "of the copy"
    assert copy["steps"][0]["uuid"] != original["steps"][0]["uuid"] == UUID


def test_a_diagram_that_no_flow_holds_is_not_opened(page: Page, daemon: Daemon) -> None:
    odd = post(daemon, "/api/template/saveUrl", {"url": json.dumps(diagram_of("odd"))})["shortUrl"]
    page.open(f"/#/edit/{odd}")

    page.wait_for("This scenario can't be shown as a list of steps")
    page.wait_for(f"scenario '{odd}' cannot be written as a flow file")


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


def test_other_assets_are_typed_by_id(page: Page, daemon: Daemon) -> None:
    page.open("/#/new/transfer")
    choose(page, "source_chain", "assetHub")
    choose(page, "assetid", "\u2063other")
    type_in(page, 0, "assetid_other", "30")
    type_in(page, 0, "amount", "1")
    type_in(page, 0, "destination_address", BOB)
    page.press("Create")

    page.wait(lambda: "#/create/" in page.browser.current_url or "assetid" in problems(page))
    assert "#/create/" in page.browser.current_url, problems(page)
    assert stored(daemon, saved(page))["steps"][0]["assetid"] in ("30", "DED")


def test_another_asset_pays_on_the_destination(page: Page, daemon: Daemon) -> None:
    page.open("/#/new/transfer")
    choose(page, "source_chain", "assetHub")
    choose(page, "dest_chain", "hydraDx")
    choose(page, "assetid", "\u2063other")
    type_in(page, 0, "assetid_other", "31337")
    type_in(page, 0, "amount", "1000000")
    type_in(page, 0, "destination_address", BOB)
    page.browser.find_element("css selector", ".step-card summary").click()
    field = box(page, 0, "remote_fee_asset")
    assert Select(field).first_selected_option.text == "The asset that is sent"
    assert field.get_attribute("aria-required") is None
    choose(page, "remote_fee_asset", "1984")
    page.press("Create")

    scenario = saved(page)
    [step] = stored(daemon, scenario)["steps"]
    assert (step["assetid"], step["remote_fee_asset"]) == ("31337", "1984")
    page.open(f"/#/edit/{scenario}")
    page.wait(lambda: value(page, 0, "remote_fee_asset") == "1984")
    choose(page, "remote_fee_asset", "")
    page.press("Save")
    page.wait_for("Hydration is not known to accept fees in 1000085")
    choose(page, "assetid", "DOT")
    page.press("Save")

    saved(page)
    assert "remote_fee_asset" not in stored(daemon, scenario)["steps"][0]


def test_the_chains_of_the_config_file_are_offered(browser: Any, tmp_path: Path) -> None:
    config = (
        '[chains.ours]\nrole = "parachain"\nrelay = "polkadot"\npara_id = 4242\nss58_prefix = 42\n'
        f'genesis = "0x{"45" * 32}"\nsymbol = "OUR"\ndecimals = 12\nendpoints = '
        '["ws://127.0.0.1:1"]\n'
    )
    with served(browser, tmp_path, config=config) as (page, _):
        page.open("/#/new/remark")
        names = [each.get_attribute("value") for each in Select(box(page, 0, "chain")).options]
        assert "ours" in names


def answer_for_nodes(page: Page, answers: dict[str, Any]) -> None:
    """Give the page what a connected daemon would say, since no node answers here; `window.asked`
    has what it asked."""
    page.browser.execute_script(
        "const [answers] = arguments; const before = window.fetch; window.asked = []; "
        "window.answers = answers;"
        "window.fetch = (path, options) => { const found = answers[String(path).split('?')[0]];"
        "if (!found) return before(path, options); window.asked.push([path, options.body ?? '']);"
        "if (found !== 'never') return Promise.resolve(new Response(JSON.stringify(found)));"
        "return new Promise((_, refuse) => options.signal.addEventListener('abort', () => {"
        "window.aborted = (window.aborted ?? 0) + 1; refuse(options.signal.reason); })); }",
        answers,
    )


def last_asked(page: Page) -> dict[str, Any]:
    """Return the fields of the newest question that has some."""
    script = "return window.asked.map(([, body]) => body).findLast(Boolean) ?? '{}'"
    return dict(json.loads(page.browser.execute_script(script)))


def tokens(human: str) -> dict[str, str]:
    return {"value": "1", "asset": "DOT", "human": human}


TRANSFER_QUOTE: dict[str, Any] = {
    "send": tokens("12345.5 DOT"),
    "receive": tokens("12345.4 DOT"),
    "fees": [
        {
            "chain": "polkadot",
            "what": "transaction fee",
            "amount": tokens("0.02 DOT"),
            "at_most": False,
        },
        {"chain": "assetHub", "what": "execution", "amount": tokens("0.1 DOT"), "at_most": True},
    ],
    "minimum": tokens("0.11 DOT"),
    "maximum": None,
    "seconds": 36,
    "basis": "dry run",
    "reasons": [],
    "asked": 2,
}


@needs_axe
def test_the_quote_of_a_transfer_stands_below_its_amount(page: Page) -> None:
    page.open("/")
    answer_for_nodes(page, {"/api/xcm/quote": TRANSFER_QUOTE})
    page.browser.execute_script("location.hash = '#/new/transfer'")
    choose(page, "assetid", "DOT")
    type_in(page, 0, "amount", "12345.5")

    page.wait_for(
        "You send 12\u202f345.5 DOT, they receive 12\u202f345.4 DOT. Fees: transaction fee "
        "on Polkadot 0.02 DOT, "
        "execution on Polkadot Asset Hub at most 0.1 DOT. At least 0.11 DOT has to be "
        "sent, or nothing arrives. "
        "It takes about 36 seconds."
    )
    assert "Not simulated" not in page.text()
    # Somebody who types slowly is told of each part.
    way = {"source_chain": "polkadot", "dest_chain": "assetHub", "assetid": "DOT"}
    page.wait(lambda: last_asked(page) == {**way, "amount": "12345.5"})
    look(page)

    page.browser.execute_script(
        "Object.assign(window.answers['/api/xcm/quote'], arguments[0])",
        {
            "receive": None,
            "minimum": None,
            "fees": [{**TRANSFER_QUOTE["fees"][0], "amount": None}],
            "basis": "fee APIs",
            "reasons": ["Hydration tells no price of it"],
        },
    )
    type_in(page, 0, "destination_address", BOB)
    page.wait_for(
        "they receive an unknown amount. Fees: transaction fee on Polkadot unknown. The "
        "least that arrives is unknown. "
        "It takes about 36 seconds. Not simulated: these are prices that the chains tell "
        "(Hydration tells no price of it)."
    )
    page.wait(lambda: last_asked(page).get("destination_address") == BOB)

    with page.screen(390):
        assert barriers(page) == []

    # What was typed since is asked for, and nothing that was quoted before stands there.
    page.browser.execute_script("window.answers['/api/xcm/quote'] = 'never'")
    type_in(page, 0, "amount", "3")
    page.wait_for("Getting a quote…")
    assert "You send" not in page.text()
    type_in(page, 0, "amount", "{{ amount }}")
    page.wait(lambda: page.browser.execute_script("return window.aborted"))
    page.wait(lambda: "Getting a quote…" not in page.text())


def test_the_quote_and_the_balance_stand_beside_the_amount(page: Page) -> None:
    page.open("/")
    page.browser.execute_script(
        "localStorage.setItem('scenarioctl.account.32', JSON.stringify({address: arguments[0]}))",
        ALICE,
    )
    answers = {
        "/api/balances": {
            "account": "0x00",
            "chains": [],
            "balances": [
                {
                    "chain": "hydraDx",
                    "asset": "5",
                    "transferable": {"value": "123456789000000", "human": "12345.6789 DOT"},
                }
            ],
        },
        "/api/swap/quote": {
            "sold": "2 DOT",
            "received": "1234567 HDX",
            "at_least": "1222221 HDX",
            "impact_percent": "0.01",
        },
    }
    answer_for_nodes(page, answers)
    page.browser.execute_script("location.hash = '#/new/swap'")
    choose(page, "assetin", "DOT")
    choose(page, "assetout", "HDX")
    type_in(page, 0, "amount", "2,5")

    page.wait_for(
        "You can send 12\u202f345.6789 DOT. Now worth 1\u202f234\u202f567 HDX, at least "
        "1\u202f222\u202f221 HDX; "
        "price impact 0.01 %."
    )
    page.wait(lambda: last_asked(page) == {"assetin": "DOT", "assetout": "HDX", "amount": "2,5"})
    asked = page.browser.execute_script("return window.asked")
    assert f"address={ALICE}&chains=hydraDx" in next(
        path for path, _ in asked if "balances" in path
    )
    type_in(page, 0, "amount", "12345,7")
    page.wait_for("12345,7 is more than you can send: 12\u202f345.6789 DOT.")


def test_an_amount_with_too_many_digits_is_told_in_its_field(page: Page) -> None:
    page.open("/#/new/transfer")
    choose(page, "assetid", "DOT")
    type_in(page, 0, "amount", "123456789012345678901234567")
    type_in(page, 0, "destination_address", BOB)
    page.press("Create")

    page.wait_for("is more DOT than can exist: check its digits")


def test_the_minimum_of_a_swap_is_shown_in_whole_tokens(page: Page, daemon: Daemon) -> None:
    swap = {
        "type": "swap",
        "assetin": "DOT",
        "assetout": "HDX",
        "amount": "2",
        "min_received": "900.5",
    }
    scenario = a_flow(daemon, {"steps": [swap]})
    before = stored(daemon, scenario)
    assert before["steps"][0]["min_amount_out"] == "900500000000000"
    page.open(f"/#/edit/{scenario}")
    page.wait(lambda: value(page, 0, "min_received") == "900.5")

    # Nothing has changed by that.
    page.click(".brand")
    page.wait(lambda: page.browser.current_url.endswith("#/"))
    page.browser.back()
    page.wait(lambda: value(page, 0, "min_received") == "900.5")
    page.press("Save")
    saved(page)
    assert stored(daemon, scenario) == before


def test_choices_that_a_flow_leaves_out_show_the_default(page: Page, daemon: Daemon) -> None:
    scenario = a_flow(daemon, {"steps": [{"type": "http", "url": "https://example.org"}]})
    before = stored(daemon, scenario)
    page.open(f"/#/edit/{scenario}")

    page.wait(lambda: value(page, 0, "method") == "GET")
    page.press("Save")
    saved(page)
    assert stored(daemon, scenario) == before


def test_an_offline_daemon_has_no_quote(page: Page) -> None:
    page.open("/#/new/swap")
    choose(page, "assetin", "DOT")
    choose(page, "assetout", "HDX")
    type_in(page, 0, "amount", "2")

    page.wait_for("No quote: Hydration can't be asked offline")


def test_a_scenario_of_two_steps_is_made_without_a_mouse(page: Page, daemon: Daemon) -> None:
    def label() -> str:
        return str(
            page.browser.execute_script(
                "const e = document.activeElement; return e.getAttribute('aria-label') ?? "
                "e.labels?.[0]?.textContent ?? e.textContent"
            )
        )

    page.open("/#/new/flow")
    page.wait_for("Which step comes first?")
    page.tab_to("Remark")
    page.keys(Keys.ENTER)
    page.tab_to("Text")
    page.keys("by keyboard")
    page.tab_to("Add a step")
    page.keys(Keys.ENTER)
    page.wait(lambda: label() == "Transfer")
    page.keys(Keys.ESCAPE)
    assert label() == "Add a step"
    page.keys(Keys.ENTER)
    page.tab_to("Delay")
    page.keys(Keys.ENTER)
    page.wait(lambda: label() == "Seconds")
    ActionChains(page.browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
    page.keys("30")
    page.tab_to("Create")
    page.keys(Keys.ENTER)

    assert [step["type"] for step in stored(daemon, saved(page))["steps"]] == ["Remark", "delay"]
    assert page.complaints() == []


def test_steps_are_dragged_with_a_finger(page: Page, daemon: Daemon) -> None:
    scenario = a_flow(daemon, FLOW)
    with page.screen(390, 800, touch=True):
        page.open(f"/#/edit/{scenario}")
        page.wait(lambda: len(steps(page)) == 4)
        page.find(".editor-picture img[src]")
        for title in page.browser.find_elements("css selector", ".step-title"):
            page.browser.execute_script("arguments[0].click()", title)
        page.browser.execute_script("scrollTo(0, 200)")
        last, first = page.browser.execute_script(
            "return [3, 0].map(n => document.querySelectorAll('.step-handle')"
            "[n].getBoundingClientRect()).map(b => [b.x + b.width / 2, b.y + b.height / 2])"
        )
        touches: list[tuple[str, list[float] | None]] = [
            ("touchStart", last),
            ("touchMove", [first[0], (first[1] + last[1]) / 2]),
            ("touchMove", [first[0], first[1] - 20]),
            ("touchEnd", None),
        ]
        for kind, point in touches:
            points = [] if point is None else [{"x": point[0], "y": point[1]}]
            page.browser.execute_cdp_cmd(
                "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
            )
        page.wait(lambda: steps(page)[0].startswith("1. Delay"))


def test_enter_saves_one_form_and_no_list(page: Page, daemon: Daemon) -> None:
    page.open(f"/#/edit/{a_flow(daemon, FLOW)}")
    type_in(page, 3, "seconds", "90")
    box(page, 3, "seconds").send_keys(Keys.ENTER)
    page.open("/#/new/transfer")
    type_in(page, 0, "destination_address", BOB)
    type_in(page, 0, "amount", "4")
    box(page, 0, "amount").send_keys(Keys.ENTER)

    assert stored(daemon, saved(page))["steps"][0]["amount"] == "4"


def test_typing_asks_the_daemon_once_it_pauses(page: Page) -> None:
    page.open("/#/new/remark")
    page.find(".editor-picture img[src]")
    page.browser.execute_script("performance.clearResourceTimings()")
    # As fast as somebody types, on any machine.
    page.browser.execute_script(
        "for (const letter of 'some twelve!') { arguments[0].value += letter;"
        " arguments[0].dispatchEvent(new InputEvent('input', {bubbles: true, data: letter})) }",
        box(page, 0, "text"),
    )
    page.wait(
        lambda: (
            "some twelve!"
            in page.browser.execute_script(
                "return atob(document.querySelector('.editor-picture img').src.split(',')[1])"
            )
        )
    )

    asked = page.browser.execute_script(
        "return performance.getEntriesByType('resource').filter(e => "
        "e.name.endsWith('/api/flow/preview')).length"
    )
    assert 1 <= asked <= 4


def test_what_people_wrote_stays_text_in_the_editor(page: Page, daemon: Daemon) -> None:
    flow = {
        "name": ATTACK[:190],
        "steps": [
            {"type": "webhook", "name": ATTACK, "uuid": UUID},
            {"type": "Remark", "chain": "polkadot", "text": ATTACK},
            {"type": "http", "url": f"https://example.org/{quote(ATTACK)}", "body": ATTACK},
        ],
    }
    scenario = a_flow(daemon, flow)
    for path in (f"/#/edit/{scenario}", f"/#/duplicate/{scenario}"):
        page.open(path)
        page.wait(lambda: page.browser.find_elements("css selector", ".editor-picture img[src]"))
        page.click("[aria-label='Insert data of an earlier step into Text']")
        page.wait_for("Insert data of an earlier step")
        look(page)
        assert value(page, 1, "text") == ATTACK
        assert page.browser.execute_script("return window.hit ?? null") is None
        assert page.browser.find_elements("css selector", "main script, main img[src=x]") == []
    page.open("/#/new/flow")
    page.wait_for("Which step comes first?")
    look(page)
    assert page.complaints() == []


def test_the_minimum_received_of_a_swap_is_picked_as_an_amount(page: Page, daemon: Daemon) -> None:
    swap = {"type": "swap", "assetin": "DOT", "assetout": "HDX", "amount": 2, "min_received": 900}
    transfer = {
        "type": "xTransfer",
        "source_chain": "hydraDx",
        "dest_chain": "hydraDx",
        "destination_address": BOB,
        "amount": 5,
        "assetid": "HDX",
    }
    page.open(f"/#/edit/{a_flow(daemon, {'steps': [swap, transfer]})}")
    amount = box(page, 1, "amount")
    page.click("[aria-label='Insert data of an earlier step into Amount']")
    page.fill("data_path", "min_received", within="dialog")
    page.press("Insert")

    page.wait(lambda: amount.get_attribute("value") == "{{ swap1.min_received }}")
    assert problems(page) == {}
    page.press("Save")
    page.wait_for("Submit it only after that swap is in a block")


def test_a_hundred_steps_stay_responsive(page: Page, daemon: Daemon) -> None:
    flow = {
        "steps": [
            {"type": "Remark", "chain": "polkadot", "text": f"step {number}"}
            if number % 2
            else {"type": "xTransfer", "source_chain": "polkadot", "dest_chain": "assetHub",
                "destination_address": BOB, "amount": number + 1, "assetid": "DOT"}
            for number in range(100)
        ]
    }  # fmt: skip
    scenario = a_flow(daemon, flow)
    with page.with_script(LONG_TASKS):
        page.open(f"/#/edit/{scenario}")
        page.wait(lambda: len(steps(page)) == 100)
        page.click(".step-title")
        type_in(page, 0, "amount", "12345.678")
        page.click("[aria-label='Move step 1, Transfer down']")
        page.press("Undo")
        page.wait(lambda: page.browser.find_elements("css selector", ".editor-picture img[src]"))
        tasks = page.browser.execute_script("return window.tasks")

    # Far above what an idle machine takes, since a busy one is slower; far below a page that stands
    # still.
    assert max(tasks, default=0) < 3000
    assert page.complaints() == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_in_the_editor(
    page: Page, daemon: Daemon, scheme: str, width: int
) -> None:
    scenario = a_flow(daemon, FLOW)
    found: dict[str, Any] = {}

    def judge(step: str) -> None:
        if each := barriers(page):
            found[step] = each

    with page.color_scheme(scheme), page.screen(width):
        page.open("/#/new/flow")
        page.wait_for("Which step comes first?")
        judge("empty")
        page.open(f"/#/edit/{scenario}")
        page.wait(lambda: page.browser.find_elements("css selector", ".editor-picture img[src]"))
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
