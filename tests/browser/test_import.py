"""The import view in headless Chromium: everything that people have, by typing, pasting, dropping
and from a file."""

import base64
import json
import zlib
from pathlib import Path

import pytest

from scenarioctl.formats.documents import write_share
from tests.browser.editor import choose, problems, saved, stored, type_in
from tests.browser.page import Daemon, Page
from tests.browser.scenarios import diagram_of, post

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


def test_a_diagram_is_imported_by_typing_pasting_and_dropping(page: Page, daemon: Daemon) -> None:
    share = base64.b64encode(zlib.compress(json.dumps(diagram_of("plain")).encode())).decode()

    page.open("/#/import")
    page.fill("url", share)
    page.press("Import")
    page.wait(lambda: "diagramData=" in page.browser.current_url)

    page.open("/")
    page.wait_for("Scenarios")
    page.paste(share)
    page.wait(lambda: "diagramData=" in page.browser.current_url)

    page.open("/")
    page.wait_for("Scenarios")
    page.drop(json.dumps(diagram_of("dropped")), "diagram.json")
    page.wait(lambda: "diagramData=" in page.browser.current_url)
    page.wait_for("dropped")

    page.open("/")
    page.wait_for("Scenarios")
    page.drop(TOML, "flow.toml")
    assert stored(daemon, saved(page))["name"] == "From a file"
    assert page.complaints() == []


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


def test_a_share_string_and_links_are_imported(page: Page, daemon: Daemon) -> None:
    share = write_share(diagram_of("shared"))
    for text in (share, f"https://example.org/#/create/?diagramData={share}"):
        typed(page, text)
        first = saved(page)
        page.wait_for('remark "shared" on Polkadot; webhook shared')
        assert post(daemon, "/api/scenario/show", {"id": first})["id"] == first


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
    assert f"{prefix}Bad: Diagram 'no share string'" in page.text()
    assert "Entry 3: It has no id." in page.text()
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
