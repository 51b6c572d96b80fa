"""Previews: as PNG and SVG, over both edges, in files and on stdout."""

import json
import os
import re
import stat
import sys
from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import pytest
import resvg_py
from PIL import Image

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.operations.previews import Preview, PreviewScenario, preview_scenario
from scenarioctl.operations.results import Result
from scenarioctl.operations.stored_diagrams import store_document
from scenarioctl.render import svg as svg_module
from scenarioctl.render.layout import FILES
from scenarioctl.render.svg import canvas_size, find_layout, write_png
from tests.conftest import DATA, ROOT, Run
from tests.drawing import document, make_app, picture_of, read_document
from tests.messages import Says, raises, says
from tests.runner import finish

T = TypeVar("T")
SVG = "{http://www.w3.org/2000/svg}"
TRANSFER = DATA / "diagrams" / "transfer.json"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Application]:
    made = make_app(tmp_path)
    yield made
    finish(made.close())


def preview(app: Application, raw: Any, **fields: Any) -> Result[Preview]:
    return finish(
        preview_scenario(
            app, PreviewScenario(scenario_id=finish(store_document(app, raw)), **fields)
        )
    )


def picture(result: Result[Preview]) -> bytes:
    return b64decode(result.answer["img"])


def open_png(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data)).convert("RGB")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"format": "text"}, says("format", "text", "png, svg")),
        ({"theme": "sepia"}, says("theme", "sepia", "light, dark")),
        ({"width": 4097}, says("width", "4097", "400 to 4096 pixels")),
    ],
)
def test_a_preview_that_cannot_be_is_refused(app: Application, fields: Any, sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        preview(app, read_document(TRANSFER), **fields)


@pytest.mark.parametrize("width", [400, 1000, "4096"])
def test_a_png_is_as_wide_as_asked_for(app: Application, width: int | str) -> None:
    img = picture(preview(app, read_document(TRANSFER), width=width))

    assert open_png(img).width == int(width)


def test_a_png_that_would_be_too_large_is_refused_with_what_would_work(app: Application) -> None:
    tall = document(60, [(0, n) for n in range(1, 60)])

    with pytest.raises(InvalidRequest) as refused:
        preview(app, tall, width=4096)

    most = re.fullmatch(
        r"width 4096 would make a PNG of 4096 x \d+ pixels with 119 cards and edges, "
        r"expected at most (\d+) for this scenario, or the format svg",
        str(refused.value),
    )
    assert most is not None
    wide, high = canvas_size(picture_of(app, tall), find_layout(picture_of(app, tall)))
    assert 0.99 * svg_module.MOST_PIXELS < int(most[1]) ** 2 * high / wide <= svg_module.MOST_PIXELS


def test_letters_that_a_png_lacks_are_told_of_and_an_svg_keeps_them(app: Application) -> None:
    raw = document(1, [], {"chain": "polkadot", "asset": {"symbol": "漢字"}, "amount": "1"})

    as_png, as_svg = preview(app, raw), preview(app, raw, format="svg")

    assert as_png.warnings == (says("漢 字", "`format` svg"),)
    assert as_svg.warnings == ()
    assert ">漢字</tspan>" in picture(as_svg).decode()


def render(svg: str, width: int) -> Image.Image:
    """Return what the renderer makes of *svg* with our fonts."""
    return open_png(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            width=width,
            skip_system_fonts=True,
            font_files=[str(file) for file in FILES],
            font_family="Inter",
        )
    )


def test_the_renderer_sees_no_fonts_but_ours(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    def look(**options: Any) -> bytes:
        given.update(options)
        return b""

    monkeypatch.setattr(resvg_py, "svg_to_bytes", look)

    write_png(picture_of(app, read_document(TRANSFER)))

    assert given["skip_system_fonts"] is True
    assert {Path(file).parent for file in given["font_files"]} == {
        ROOT / "scenarioctl" / "render" / "fonts"
    }
    assert set(given) == {"svg_string", "width", "skip_system_fonts", "font_files", "font_family"}


@pytest.fixture
def sample(scenarioctl: Run) -> str:
    return scenarioctl("scenario", "import", str(TRANSFER)).out.strip()


@pytest.mark.parametrize(("name", "start"), [("p.png", b"\x89PNG"), ("p.SVG", b"<svg ")])
def test_a_preview_is_written_to_a_file_of_the_kind_that_its_name_says(
    scenarioctl: Run, sample: str, tmp_path: Path, name: str, start: bytes
) -> None:
    ended = scenarioctl("scenario", "preview", sample, "-o", str(tmp_path / name))

    assert (ended.out, ended.err, ended.code) == ("", f"Wrote {tmp_path / name}\n", 0)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_that_is_there_is_replaced_and_keeps_its_permissions(
    scenarioctl: Run, sample: str, tmp_path: Path
) -> None:
    target, link = tmp_path / "p.png", tmp_path / "link.png"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)

    scenarioctl("scenario", "preview", sample, "-o", str(link))

    assert link.is_symlink()
    assert target.read_bytes()[:4] == b"\x89PNG"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_failed_write_leaves_the_old_file(
    scenarioctl: Run, sample: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "p.png"
    target.write_text("old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    ended = scenarioctl("scenario", "preview", sample, "-o", str(target))

    assert ended.err == says("output", path=target).printed
    assert ended.code == 2
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.png"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (("-o", "picture.gif"), says("output", "picture.gif")),
        (("-o", "p.svg", "--format", "png"), says("format", "png", "p.svg")),
        (("-o", "/nowhere/p.png"), says("output", "/nowhere/p.png")),
        (("-o", "p\0.png"), says("output", "p\\x00.png", "NUL")),
        (("-o", "-", "--json"), says("output", "--json")),
        (("-o", "p.txt"), says("output", "p.txt", ".png or .svg")),
        (("--format", "gif"), says("format", "gif")),
    ],
)
def test_an_impossible_file_is_refused(
    scenarioctl: Run, sample: str, line: tuple[str, ...], sentence: Says
) -> None:
    ended = scenarioctl("scenario", "preview", sample, *line)

    assert (ended.out if "--json" not in line else "", ended.code) == ("", 2)
    assert (json.loads(ended.out)["error"] if "--json" in line else ended.err) == (
        sentence if "--json" in line else sentence.printed
    )


def test_a_pipe_gets_the_picture_and_json_the_endpoints_answer(
    scenarioctl: Run, sample: str
) -> None:
    drawn = scenarioctl("scenario", "preview", sample, "--format", "svg")
    as_json = scenarioctl("--json", "scenario", "preview", sample)

    assert drawn.out.startswith("<svg ")
    assert set(json.loads(as_json.out)) == {"info", "img", "id"}


def test_a_terminal_is_sent_no_png(
    scenarioctl: Run, sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    refused = scenarioctl("scenario", "preview", sample)
    drawn = scenarioctl("scenario", "preview", sample, "--format", "svg")

    assert (refused.code, refused.err) == (2, says("output", "-o FILE").printed)
    assert drawn.out.startswith("<svg ")
