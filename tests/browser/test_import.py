"""The import view in headless Chromium: everything that people have, by typing, pasting, dropping
and from a file."""

import json
from pathlib import Path

import pytest

from scenarioctl.formats.documents import write_share
from tests.browser.editor import FLOW, choose, problems, saved, stored, type_in
from tests.browser.page import Daemon, Page
from tests.browser.reading import barriers, needs_axe
from tests.browser.scenarios import a_remark, diagram_of, post

pytestmark = pytest.mark.acceptance

TOML = """name = "From a file"

[[steps]]
type = "Remark"
chain = "polkadot"
text = "from toml"
"""


def typed(page: Page, text: str) -> None:
    page.open("/#/import")
    area = page.find("[name=url]")
    page.browser.execute_script("arguments[0].value = arguments[1]", area, text)
    page.press("Import")


def test_a_flow_file_is_imported(page: Page, daemon: Daemon) -> None:
    typed(page, TOML)
    assert stored(daemon, saved(page)) == {
        "name": "From a file",
        "steps": [{"type": "Remark", "chain": "polkadot", "text": "from toml"}],
    }
    typed(page, json.dumps(FLOW))
    page.wait(lambda: "diagramData=" in page.browser.current_url)

    assert stored(daemon, saved(page))["name"] == "Pay out"


def test_a_flow_file_is_dropped_and_pasted(page: Page, daemon: Daemon) -> None:
    page.open("/")
    page.wait_for("Scenarios")
    page.drop(TOML, "flow.toml")
    assert stored(daemon, saved(page))["name"] == "From a file"

    page.open("/")
    page.wait_for("Scenarios")
    page.paste(TOML)
    assert stored(daemon, saved(page))["name"] == "From a file"


def test_a_flow_file_with_mistakes_is_opened_in_the_editor(page: Page, daemon: Daemon) -> None:
    typed(
        page,
        TOML.replace("polkadot", "polkadott") + '[[steps]]\ntype = "delay"\nseconds = "soon"\n',
    )

    page.wait_for("This flow file is not stored yet: it has mistakes.")
    page.wait(lambda: set(problems(page)) == {"chain", "seconds"})
    choose(page, "chain", "polkadot")
    type_in(page, 1, "seconds", "60")
    page.press("Create")
    assert stored(daemon, saved(page))["name"] == "From a file"


def test_a_flow_file_of_unknown_steps_is_refused_in_a_sentence(page: Page) -> None:
    typed(page, TOML.replace("Remark", "Rmark"))

    page.wait_for("steps[0].type 'Rmark' is not a step type, did you mean Remark?")
    assert "#/import" in page.browser.current_url


def test_a_flow_whose_steps_are_no_list_is_refused_as_a_flow(page: Page) -> None:
    typed(page, '{"steps": 5}')

    page.wait_for("Flow has no steps, expected at least one")


def test_a_share_string_and_links_are_imported(page: Page, daemon: Daemon) -> None:
    share = write_share(diagram_of("shared"))
    for text in (share, f"https://example.org/#/create/?diagramData={share}"):
        typed(page, text)
        first = saved(page)
        page.wait_for('remark "shared" on Polkadot; webhook shared')
        assert post(daemon, "/api/scenario/show", {"id": first})["id"] == first


def test_a_link_of_this_daemon_opens_its_scenario(page: Page, daemon: Daemon) -> None:
    scenario = a_remark(daemon, "linked here")
    count = post(daemon, "/api/scenario/show", {"id": scenario})["revision"]
    typed(page, f"{page.url}/#/create/?diagramData={scenario}")
    assert saved(page) == scenario

    page.open("/#/import")
    page.wait_for("Import")
    page.paste(f"{page.url.replace('127.0.0.1', 'localhost')}/#/create/?diagramData={scenario}")
    assert saved(page) == scenario
    assert post(daemon, "/api/scenario/show", {"id": scenario})["revision"] == count


def test_a_link_of_another_daemon_says_what_to_bring(page: Page) -> None:
    typed(page, "https://example.org/#/create/?diagramData=lnr8CfoQX")

    page.wait_for(
        "Diagram is a link to the stored scenario 'lnr8CfoQX', expected one that holds the "
        "diagram itself"
    )


def a_store(prefix: str) -> str:
    return json.dumps(
        {
            "urls": [
                {"shortUrl": f"{prefix}One", "longUrl": write_share(diagram_of("one"))},
                {"shortUrl": f"{prefix}Bad", "longUrl": "no share string"},
                {"longUrl": write_share(diagram_of("two"))},
                {"shortUrl": f"{prefix}Old", "longUrl": {"url": write_share(diagram_of("three"))}},
            ]
        }
    )


def check_store(page: Page, daemon: Daemon, prefix: str) -> None:
    page.wait_for("2 of 4 scenarios are in the store; 2 refused.")
    assert f"{prefix}Bad: diagram 'no share string'" in page.text()
    assert "urls[2]: urls[2].shortUrl is missing, expected the id of a scenario" in page.text()
    for name in ("One", "Old"):
        assert post(daemon, "/api/scenario/show", {"id": prefix + name})["id"] == prefix + name
        assert page.browser.find_elements("css selector", f"a[href$='={prefix}{name}']")


def test_the_scenarios_of_a_bagpipes_store_keep_their_ids(
    page: Page, daemon: Daemon, tmp_path: Path
) -> None:
    file = tmp_path / "urls2.json"
    file.write_text(a_store("File"))
    page.open("/#/import")
    page.find("[name=file]").send_keys(str(file))
    check_store(page, daemon, "File")

    page.open("/")
    page.wait_for("Scenarios")
    page.drop(a_store("Drop"), "urls2.json")
    check_store(page, daemon, "Drop")


def test_a_file_is_chosen(page: Page, daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "flow.toml"
    file.write_text("\ufeff" + TOML)
    page.open("/#/import")
    page.find("[name=file]").send_keys(str(file))

    assert stored(daemon, saved(page))["name"] == "From a file"
    assert page.complaints() == []


def test_a_file_that_cannot_be_read_is_refused_beside_the_button(
    page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "list.txt"
    file.write_text("milk, bread")
    page.open("/#/import")
    page.find("[name=file]").send_keys(str(file))

    page.wait_for("diagram 'milk, bread' is not base64, expected the share string of a diagram")


def test_a_file_over_the_page_shows_where_it_may_be_dropped(page: Page) -> None:
    def drag(kind: str) -> str:
        page.browser.execute_script(
            (
                "document.body.dispatchEvent(new DragEvent(arguments[0], {bubbles: true, "
                "cancelable: true}))"
            ),
            kind,
        )
        return str(
            page.browser.execute_script(
                "return getComputedStyle(document.documentElement, '::after').content"
            )
        )

    page.open("/#/import")
    page.wait_for("Import")

    assert drag("dragover") == '"Drop it to import it"'
    assert drag("dragleave") == "none"


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_in_the_import(
    page: Page, scheme: str, width: int, tmp_path: Path
) -> None:
    file = tmp_path / "urls2.json"
    file.write_text(a_store(f"Axe{scheme}{width}"))
    with page.color_scheme(scheme), page.screen(width):
        page.open("/#/import")
        page.find("[name=file]").send_keys(str(file))
        page.wait_for("2 refused.")
        found = barriers(page)

    assert found == []
