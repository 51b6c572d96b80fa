"""All problems of a flow at once, each with its step and field, as a form shows them."""

from collections.abc import Iterator
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import BadJson, InvalidRequest
from scenarioctl.operations.creation import CreateFlow, create_flow
from scenarioctl.operations.previews import FlowPreview, FlowProblem, PreviewFlow, preview_flow
from scenarioctl.operations.results import Result
from tests.conftest import BOB
from tests.drawing import make_app
from tests.runner import finish

PALLET = "0x6d6f646c70792f74727372790000000000000000000000000000000000000000"

TRANSFER: dict[str, Any] = {
    "type": "xTransfer",
    "source_chain": "polkadot",
    "dest_chain": "assetHub",
    "destination_address": BOB,
    "amount": "1.5",
    "assetid": "DOT",
}
SWAP: dict[str, Any] = {"type": "swap", "assetin": "DOT", "assetout": "HDX", "amount": "2"}
REMARK: dict[str, Any] = {"type": "Remark", "chain": "polkadot", "text": "hello"}
QUERY: dict[str, Any] = {
    "type": "chainQuery",
    "chain": "polkadot",
    "pallet_name": "System",
    "method_name": "Number",
}
CALL: dict[str, Any] = {
    "type": "chainTx",
    "chain": "polkadot",
    "pallet_name": "System",
    "method_name": "remark",
}
DELAY: dict[str, Any] = {"type": "delay", "seconds": 60}
WEBHOOK: dict[str, Any] = {"type": "webhook", "name": "payments", "id": "paid"}
HTTP: dict[str, Any] = {"type": "http", "url": "https://example.org/hook"}

#: A step with mistakes in several fields, and these fields.
BROKEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "xTransfer": (
        TRANSFER
        | {
            "amount": "a lot",
            "destination_address": "nobody",
            "assetid": "NOSUCH",
            "xcm_version": 9,
            "allow_death": True,
        },
        ["assetid", "amount", "destination_address", "xcm_version", "allow_death"],
    ),
    "swap": (
        SWAP
        | {
            "assetout": "DOT",
            "amount": "-1",
            "min_received": "x",
            "slippage": "200",
            "max_impact": "x",
            "route": "[",
        },
        ["amount", "slippage", "route", "min_received", "max_impact", "assetout"],
    ),
    "Remark": (
        REMARK | {"chain": "nosuchchain", "text": "", "plain": 1},
        ["chain", "text", "plain"],
    ),
    "payout": (
        {
            "type": "payout",
            "chain": "nosuchchain",
            "lines": "account,amount\n",
            "memos": 1,
            "force_batch": 1,
        },
        ["chain", "memos", "force_batch"],
    ),
    "chainQuery": (
        QUERY | {"params": 3, "block": "x", "pallet_name": "", "method_name": ""},
        ["pallet_name", "method_name", "params", "block"],
    ),
    "chainTx": (
        CALL | {"params": 3, "pallet_name": "", "method_name": ""},
        ["pallet_name", "method_name", "params"],
    ),
    "http": (
        HTTP
        | {
            "url": "ftp://x",
            "headers": {"no name": "x"},
            "method": "EAT",
            "timeout": "x",
            "retries": 99,
        },
        ["url", "method", "headers", "timeout", "retries"],
    ),
    "webhook": (WEBHOOK | {"name": "", "uuid": "x", "timeout": "x"}, ["name", "uuid", "timeout"]),
    "delay": ({"type": "delay", "seconds": "soon"}, ["seconds"]),
    "condition": (
        {"type": "condition", "when": "1 <", "else": "stop", "asset": "DOT"},
        ["else", "chain", "when"],
    ),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    made = make_app(tmp_path_factory.mktemp("app"))
    yield made
    finish(made.close())


def preview(app: Application, *steps: dict[str, Any], **more: Any) -> Result[FlowPreview]:
    request = PreviewFlow(flow={"steps": list(steps), **more}, format="svg")
    return finish(preview_flow(app, request))


def problems(app: Application, *steps: dict[str, Any], **more: Any) -> list[FlowProblem]:
    return preview(app, *steps, **more).answer["problems"]


def places(found: list[FlowProblem]) -> list[tuple[str, str]]:
    return [(each["step"], each["field"]) for each in found]


@pytest.mark.parametrize("kind", BROKEN)
def test_each_field_of_a_step_has_its_problem(app: Application, kind: str) -> None:
    step, fields = BROKEN[kind]

    found = problems(app, step)

    assert places(found) == [("steps[0]", field) for field in fields]
    for each in found:
        assert each["problem"].startswith(each["field"]), each


@pytest.mark.parametrize("kind", BROKEN)
def test_what_refuses_a_flow_is_among_its_problems(app: Application, kind: str) -> None:
    step, _ = BROKEN[kind]
    with pytest.raises((InvalidRequest, BadJson)) as refused:
        finish(create_flow(app, CreateFlow(flow={"steps": [DELAY, step]})))

    sentences = [f"steps[1].{each['problem']}" for each in problems(app, DELAY, step)]

    assert refused.value.statement.replace("steps[1].min_amount_out", "min_amount_out") in sentences


def test_a_sound_flow_has_no_problems(app: Application) -> None:
    steps: list[dict[str, Any]] = [
        TRANSFER,
        SWAP,
        REMARK,
        QUERY,
        CALL | {"params": {"remark": "0x00"}},
        DELAY,
        WEBHOOK,
        HTTP,
    ]

    assert problems(app, *steps) == []


def test_a_missing_key_is_a_problem_of_its_field(app: Application) -> None:
    assert places(
        problems(app, {"type": "xTransfer", "source_chain": "polkadot", "amount": "x"})
    ) == [
        ("steps[0]", "dest_chain"),
        ("steps[0]", "destination_address"),
        ("steps[0]", "assetid"),
        ("steps[0]", "amount"),
    ]


def test_what_depends_on_an_unknown_chain_is_not_judged(app: Application) -> None:
    found = problems(
        app, TRANSFER | {"source_chain": "polkadott", "amount": "x", "allow_death": True}
    )

    assert places(found) == [("steps[0]", "source_chain"), ("steps[0]", "amount")]
    assert problems(app, QUERY | {"chain": "polkadott", "pallet_name": "NoSuch"}) == [
        {
            "step": "steps[0]",
            "field": "chain",
            "problem": "chain 'polkadott' is not a chain, did you mean polkadot?",
        }
    ]


def test_a_receiver_without_a_key_says_how_it_is_confirmed(app: Application) -> None:
    step = TRANSFER | {"destination_address": PALLET}

    [found] = problems(app, step)

    assert found.get("confirm") == "yes"
    assert found["field"] == "destination_address"
    assert found["problem"].endswith("nobody holds its key: funds sent there are lost")
    assert problems(app, step | {"yes": True}) == []


def test_order_ids_name_and_tags_are_judged_beside_the_fields(app: Application) -> None:
    steps: list[dict[str, Any]] = [
        DELAY | {"id": "a", "after": ["b"]},
        DELAY | {"id": "b", "after": ["a"], "seconds": "x"},
        DELAY | {"id": "b", "after": ["nowhere"]},
        DELAY | {"id": 3, "color": "red"},
        REMARK | {"text": {"at": 1.5}},
    ]

    result = preview(app, *steps, name=7, tags=["two words"])

    assert places(result.answer["problems"]) == [
        ("", "name"),
        ("", "tags"),
        ("steps[0]", "after"),
        ("steps[1]", "seconds"),
        ("steps[2]", "id"),
        ("steps[2]", "after"),
        ("steps[3]", "id"),
        ("steps[3]", "color"),
        ("steps[4]", "text"),
    ]
    assert len(result.warnings) == 2


def test_placeholders_are_named_as_they_are_written(app: Application) -> None:
    found = problems(
        app, WEBHOOK, REMARK | {"text": "{{ paid.address }}"}, REMARK | {"text": "{{ http.body }}"}
    )

    assert found == [
        {
            "step": "steps[1]",
            "field": "text",
            "problem": "text waits for webhook data: {{ paid.address }}",
            "waiting": True,
        },
        {
            "step": "steps[2]",
            "field": "text",
            "problem": "text waits for an earlier step's data: {{ http.body }}",
            "waiting": True,
        },
    ]
