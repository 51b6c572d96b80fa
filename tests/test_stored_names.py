"""Names of scenarios: given when they are created, and taken in place of ids, over HTTP and on the
command line; and the beginnings of ids."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, NotFound, ScenarioctlError, shorten
from scenarioctl.model.request_fields import field_rows
from scenarioctl.operations import find_handler, stored_names
from scenarioctl.operations.scenarios import ScenarioInfo, scenario_info
from scenarioctl.server.endpoints import ENDPOINTS
from tests.conftest import BOB, Run
from tests.drawing import make_app
from tests.messages import raises, says
from tests.serving import Serving
from tests.test_stores import FIRST, SECOND

RENT = replace(FIRST, id="3kf9Qz7aB", name="Monthly rent")
#: Two ids begin alike.
ALIKE = replace(SECOND, id="3kf9Xa81k", name="Other", created=FIRST.created + 2)
OTHER = replace(SECOND, id="hLhmE6m0j", name="", created=FIRST.created + 1)


async def stored(app: Application, *scenarios: Any) -> None:
    await app.store.put_scenarios(scenarios or (RENT, ALIKE, OTHER))


async def summary_of(app: Application, id: str) -> Any:
    return await stored_names.perform(app, scenario_info, ScenarioInfo(id=id))


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("3kf9Qz7aB", RENT.id),
        ("Monthly rent", RENT.id),
        ("3kf9Q", RENT.id),
        ("hLhm", OTHER.id),
        ("hLhmE6m0j", OTHER.id),
        ("@last", ALIKE.id),
        (" Monthly rent\n", RENT.id),
        ("3kf9Qz7aB\r\n", RENT.id),
    ],
)
async def test_a_scenario_is_found_by_what_names_it(tmp_path: Path, text: str, id: str) -> None:
    async with make_app(tmp_path) as app:
        await stored(app)

        assert await stored_names.find_scenario(app, text, field="id") == id


async def test_the_answer_says_which_id_was_meant(tmp_path: Path) -> None:
    async with make_app(tmp_path) as app:
        await stored(app)

        named = await summary_of(app, "Monthly rent")
        exact = await summary_of(app, RENT.id)

        assert named.answer == exact.answer == {"result": RENT.summary}
        assert (named.ids, exact.ids) == ({"Monthly rent": RENT.id}, {})


async def test_a_text_that_means_several_is_refused_and_lists_them(tmp_path: Path) -> None:
    many = [
        replace(SECOND, id=f"same-{number}", name="twice" * (number < 2)) for number in range(7)
    ]
    async with make_app(tmp_path) as app:
        await stored(app, RENT, ALIKE, *many)

        for text, words in (
            ("3kf9", ("3kf9Qz7aB ('Monthly rent')", "3kf9Xa81k")),
            ("twice", ("same-0", "same-1")),
            ("same", ("same-4", "…")),
        ):
            with raises(InvalidRequest, says("id", text, *words)):
                await summary_of(app, text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("3kf", NotFound),
        ("9Qz7", NotFound),
        ("nobody", NotFound),
        ("monthly rent", InvalidRequest),
        ("Monthly rent\0", InvalidRequest),
    ],
)
async def test_what_names_nothing_is_refused(
    tmp_path: Path, text: str, error: type[ScenarioctlError]
) -> None:
    async with make_app(tmp_path) as app:
        await stored(app)

        with raises(error, says(shorten(text))):
            await summary_of(app, text)


def test_every_operation_that_takes_the_id_of_a_scenario_or_a_job_takes_its_name() -> None:
    takes_id = {
        (row.operation, field.name)
        for row in ENDPOINTS
        for field in fields(find_handler(row.operation)[1])
        if field.name in ("id", "ids", "scenario", "scenario_id", "job", "replace")
    }
    takes_name = {
        (row.operation, each["name"])
        for row in ENDPOINTS
        for each in field_rows(find_handler(row.operation)[1])
        if each.get("is_stored")
    }

    # One that a scenario is to get, and that of one to delete.
    assert takes_id - takes_name == {
        ("scenarios.import_scenario", "id"),
        ("scenarios.delete_scenario", "id"),
    }
    assert not takes_name - takes_id


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path) as serving:
        serving.wait_for(lambda app: app.store.put_scenarios((RENT, ALIKE, OTHER)))
        yield serving


@pytest.mark.parametrize("text", ["Monthly rent", RENT.id[:6], "@last"])
def test_over_http_only_an_id_is_deleted(serving: Serving, text: str) -> None:
    """A request that is sent again must not mean another scenario."""
    reply = serving.post("/api/scenario/delete", {"scenario": text})

    assert reply.status in (404, 422)
    assert serving.wait_for(lambda app: app.store.count_scenarios()) == 3


def test_over_http_no_name_is_an_id_that_is_stored_or_was(serving: Serving) -> None:
    remark = {"chain": "polkadot", "text": "hello"}
    share = '{"nodes":[{"id":"d","type":"delay","formData":{"seconds":60}}],"edges":[]}'
    made = serving.post("/api/create/remark", remark).json()["result"]
    for state in ("stored", "deleted"):
        for path, body in (
            ("/api/create/remark", {**remark, "name": OTHER.id}),
            ("/api/scenario/replace", {"scenario": made, "name": f" {OTHER.id}\n"}),
            ("/saveUrl", {"url": share, "id": ALIKE.name}),
        ):
            reply = serving.post(path, body)

            assert reply.status == (409 if "url" in body else 422), (state, path)
            assert reply.json()["error"] == says("id", body.get("id", OTHER.id))
        serving.post("/api/scenario/delete", {"scenario": OTHER.id})
    assert serving.post("/api/scenario/info", {"id": OTHER.id}).status == 404
    assert serving.post("/saveUrl", {"url": share, "id": OTHER.id}).status == 409


REMARK = ("--offline", "create", "remark", "--chain", "polkadot", "--text")


def created(scenarioctl: Run, text: str, name: str = "") -> str:
    id = scenarioctl(*REMARK, text).out.strip()
    if name:
        scenarioctl("scenario", "edit", id, "--name", name)
    return id


BOTH = ("--name", " Monthly   rent", "--tag", "treasury", "--tag", "monthly")


@pytest.mark.parametrize(
    "line",
    [
        (
            "transfer",
            "--from",
            "polkadot",
            "--to",
            "assetHub",
            "--asset",
            "DOT",
            "--amount",
            "2",
            "--to-address",
            BOB,
        ),
        ("swap", "--sell", "DOT", "--buy", "HDX", "--amount", "2", "--min-received", "900"),
        ("flow", "FLOW"),
    ],
    ids=lambda line: line[0],
)
def test_what_is_created_has_its_name_and_its_tags(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...]
) -> None:
    flow = tmp_path / "rent.toml"
    flow.write_text(
        'tags = ["paid"]\nname = "Rent"\n[[steps]]\ntype = "Remark"\nchain = '
        '"polkadot"\ntext = "a"\n'
    )
    line = tuple(str(flow) if word == "FLOW" else word for word in line)

    made = scenarioctl("--offline", "create", *line, *BOTH)
    shown = json.loads(scenarioctl("scenario", "show", "Monthly rent", "--json").out)
    plain = scenarioctl("--offline", "create", *line)
    unnamed = json.loads(scenarioctl("scenario", "show", plain.out.strip(), "--json").out)
    wrong = scenarioctl("--offline", "create", *line, "--tag", "two words")

    assert (made.code, shown["id"]) == (0, made.out.strip())
    own = ["paid"] if line[0] == "flow" else []
    assert shown["tags"] == sorted(["monthly", *own, "treasury"])
    assert (unnamed.get("name"), unnamed.get("tags")) == (("Rent", own) if own else (None, None))
    assert (wrong.code, wrong.err) == (2, says("--tag", "two words").printed)
    assert scenarioctl("scenario", "list", "--field", "total").out == "2\n"
