"""Flow files: what a person writes, and the diagram that comes of it."""

import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarioctl.actions import all_steps
from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.actions.problems import find_problems
from scenarioctl.actions.summaries import summarise
from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import BadJson, InvalidRequest, ScenarioctlError, TooLarge
from scenarioctl.formats.diagram_builder import DiagramBuilder
from scenarioctl.formats.share import read_share, write_share
from scenarioctl.model.calls import Call
from scenarioctl.model.diagram import read_diagram
from scenarioctl.operations.creation import (
    CreateFlow,
    CreateQuery,
    CreateRemark,
    CreateScenario,
    CreateSwap,
    create_flow,
    create_query,
    create_remark,
    create_scenario,
    create_swap,
)
from scenarioctl.runtime.table import RuntimeTable
from tests.conftest import BOB, ROOT
from tests.runner import finish
from tests.test_documents import documents

UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"

#: One step of each kind, as TOML.
STEP = {
    "xTransfer": f"""type = "xTransfer"
source_chain = "polkadot"
dest_chain = "assethub"
destination_address = "{BOB}"
amount = 1.5
assetid = "DOT"
""",
    "swap": """type = "swap"
assetin = 5
assetout = "HDX"
amount = "2"
min_amount_out = 900000000000000
slippage = 0.5
""",
    "Remark": 'type = "Remark"\nchain = "asset-hub"\ntext = "hello"\nplain = true\n',
    "chainQuery": """type = "chainQuery"
chain = "hydration"
pallet_name = "System"
method_name = "Account"
params = ["{{ address }}"]
""",
    "chainTx": """type = "chainTx"
chain = "polkadot"
pallet_name = "System"
method_name = "remark"
params = { remark = "0x6869" }
""",
    "http": """type = "http"
url = "https://example.org/hook"
method = "POST"
headers = { Accept = "application/json" }
body = { amount = 1.50, to = ["a"] }
""",
    "webhook": 'type = "webhook"\nname = "payments"\n',
    "delay": 'type = "delay"\nseconds = 0.5\n',
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    path = tmp_path_factory.mktemp("app")
    made = Application(Settings(config=path / "c", store=str(path / "s"), cache=path / "r", offline=True))
    yield made
    finish(made.close())


def canvas() -> DiagramBuilder:
    numbers = count(1)
    return DiagramBuilder(new_suffix=lambda: f"{next(numbers):06x}", new_uuid=lambda: UUID)


def toml(*steps: str, name: str = "") -> str:
    head = f'name = "{name}"\n' if name else ""
    return head + "".join(f"\n[[steps]]\n{step}" for step in steps)


def draw(app: Application, *steps: str) -> dict[str, Any]:
    return draw_flow(app, read_flow(toml(*steps)), builder=canvas()).document


def forms(document: dict[str, Any]) -> dict[str, Any]:
    return {node["id"]: node["formData"] for node in document["nodes"]}


def arrows(document: dict[str, Any]) -> list[str]:
    return [edge["id"] for edge in document["edges"]]


def test_a_transfer_becomes_chain_action_chain(app: Application) -> None:
    document = draw(app, STEP["xTransfer"])

    assert forms(document) == {
        "chain_000001": {
            "chain": "polkadot",
            "asset": {"name": "Polkadot", "assetId": 0, "symbol": "DOT"},
            "address": None,
            "amount": "1.5",
            "delay": None,
            "contact": None,
        },
        "action_000002": {
            "action": "xTransfer",
            "actionData": {
                "actionType": "xTransfer",
                "source": {
                    "chain": "polkadot",
                    "assetId": 0,
                    "address": None,
                    "amount": "1.5",
                    "symbol": "DOT",
                },
                "target": {"chain": "assetHub", "assetId": 1000, "address": BOB, "symbol": "DOT"},
            },
        },
        "chain_000003": {
            "chain": "assetHub",
            "asset": {"name": "Polkadot", "assetId": 1000, "symbol": "DOT"},
            "address": BOB,
            "amount": None,
            "delay": None,
            "contact": None,
        },
    }
    assert arrows(document) == ["chain_000001-action_000002", "action_000002-chain_000003"]


def test_a_swap_keeps_what_bounds_and_routes_it(app: Application) -> None:
    document = draw(app, STEP["swap"] + 'route = "5>omnipool>0"\n')

    data = forms(document)["action_000002"]["actionData"]

    assert data["source"] == {
        "chain": "hydraDx",
        "assetId": "5",
        "address": None,
        "amount": "2",
        "symbol": "DOT",
    }
    assert data["target"] == {"chain": "hydraDx", "assetId": "0", "address": None, "symbol": "HDX"}
    assert (data["minAmountOut"], data["slippage"], data["route"]) == (
        "900000000000000",
        "0.5",
        "5>omnipool>0",
    )


@pytest.mark.parametrize(
    ("kind", "node", "form"),
    [
        (
            "Remark",
            "action_000002",
            {
                "action": "Remark",
                "actionData": {
                    "actionType": "remark",
                    "source": {
                        "chain": "assetHub",
                        "assetId": None,
                        "address": None,
                        "amount": None,
                        "symbol": None,
                        "target": "hello",
                    },
                    "target": None,
                    "plain": True,
                },
            },
        ),
        (
            "chainQuery",
            "chainQuery_000001",
            {
                "selectedChain": "hydraDx",
                "selectedPallet": "System",
                "selectedMethod": {"name": "Account"},
                "methodInput": "{{ address }}",
                "blockHash": "",
            },
        ),
        (
            "chainTx",
            "chainTx_000001",
            {
                "selectedChain": "polkadot",
                "selectedPallet": "System",
                "selectedMethod": {"name": "remark", "fields": [{"name": "remark"}]},
                "params": {"remark": "0x6869"},
                "selectedAddress": None,
            },
        ),
        (
            "http",
            "http_000001",
            {
                "url": "https://example.org/hook",
                "method": "post",
                "connectionType": "httpRequest",
                "headers": [{"key": "Accept", "value": "application/json"}],
                "requestContent": '{"amount": "1.50", "to": ["a"]}',
                "contentType": "application/json",
                "parseResponse": "yes",
            },
        ),
        ("webhook", "webhook_000001", {"webhookName": "payments", "uuid": UUID}),
        ("delay", "delay_000001", {"seconds": "0.5"}),
    ],
)
def test_each_kind_of_step_gets_the_editors_form(
    app: Application, kind: str, node: str, form: dict[str, Any]
) -> None:
    document = draw(app, STEP[kind])

    assert forms(document)[node] == form


def test_steps_run_one_after_the_other(app: Application) -> None:
    document = draw(app, *STEP.values())

    assert summarise(read_diagram(document)) == (
        "polkadot > xTransfer > assetHub > hydraDx > swap > hydraDx > assetHub > Remark > query(hydraDx) > "
        "tx(polkadot) > http > webhook > delay"
    )
    # The webhook comes after it.
    assert [problem.sentence for problem in finish(find_problems(app, read_diagram(document)))] == [
        "methodInput needs 'address', which no earlier step provides"
    ]


def test_where_a_step_ends_the_next_one_starts_in_the_same_box(app: Application) -> None:
    onward = STEP["xTransfer"].replace('"polkadot"', '"assetHub"').replace('"assethub"', '"hydraDx"')
    document = draw(app, STEP["xTransfer"], onward)

    assert summarise(read_diagram(document)) == "polkadot > xTransfer > assetHub > xTransfer > hydraDx"
    assert forms(document)["chain_000003"]["amount"] == "1.5"


def test_a_graph_is_drawn_from_left_to_right(app: Application) -> None:
    document = draw(
        app,
        STEP["delay"] + 'id = "last"\nafter = ["left", "right"]\n',
        STEP["webhook"] + "after = []\nid = 'first'\n",
        STEP["http"] + "id = 'left'\nafter = 'first'\n",
        STEP["chainTx"] + "id = 'right'\nafter = ['first']\n",
    )

    places = {node["id"]: (node["position"]["x"], node["position"]["y"]) for node in document["nodes"]}
    assert places == {
        "webhook_000001": (0, 260),
        "http_000002": (220, 260),
        "chainTx_000003": (220, 780),
        "delay_000004": (440, 260),
    }
    assert arrows(document) == [
        "webhook_000001-http_000002",
        "webhook_000001-chainTx_000003",
        "http_000002-delay_000004",
        "chainTx_000003-delay_000004",
    ]


def test_every_node_has_what_the_editor_draws_it_by(app: Application) -> None:
    document = draw(app, *STEP.values())

    shared = {
        "id",
        "type",
        "position",
        "positionAbsolute",
        "data",
        "style",
        "formData",
        "width",
        "height",
        "selected",
        "dragging",
    }
    for node in document["nodes"]:
        assert set(node) - {"selectedWebhook", "uuid"} == shared
        assert re.fullmatch(rf"{node['type']}_[0-9a-f]{{6}}", node["id"])
    boxes = [
        (node["position"]["x"], node["position"]["y"], node["width"], node["height"])
        for node in document["nodes"]
    ]
    for number, (x, y, width, height) in enumerate(boxes):
        for x2, y2, width2, height2 in boxes[:number]:
            assert x >= x2 + width2 or x2 >= x + width or y >= y2 + height2 or y2 >= y + height


def test_an_id_that_is_taken_is_not_used_again(app: Application) -> None:
    suffixes = iter(["00000a", "00000a", "00000b"])
    drawn = draw_flow(
        app,
        read_flow(toml(STEP["delay"], STEP["delay"])),
        builder=DiagramBuilder(new_suffix=lambda: next(suffixes)),
    ).document

    assert [node["id"] for node in drawn["nodes"]] == ["delay_00000a", "delay_00000b"]


def test_a_created_flow_survives_export_and_import(app: Application) -> None:
    document = draw_flow(app, read_flow(toml(*STEP.values(), name="all of them"))).document

    assert read_share(write_share(document)) == document
    assert document["name"] == "all of them"


def test_json_says_the_same_as_toml(app: Application) -> None:
    as_json = json.dumps(
        {"steps": [{"type": "delay", "seconds": 0.5}, {"type": "webhook", "name": "payments"}]}
    )
    drawn = draw_flow(app, read_flow(as_json, syntax="json"), builder=canvas()).document

    assert drawn == draw(app, STEP["delay"], STEP["webhook"])
    assert drawn == draw_flow(app, read_flow(json.loads(as_json)), builder=canvas()).document


def test_amounts_of_a_flow_file_are_never_rounded(app: Application) -> None:
    amount = "1234567890123456789012345.123456789012"
    step = STEP["swap"].replace('"2"', amount).replace("assetin = 5", "assetin = 'HDX'")
    step = step.replace('assetout = "HDX"', "assetout = 5")

    document = draw(app, step)

    assert forms(document)["action_000002"]["actionData"]["source"]["amount"] == amount


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("name = ", BadJson, "flow is not TOML: Invalid value (at end of document)"),
        ("x = " + "9" * 5000, BadJson, "flow is not TOML: it contains a number that is too long"),
        ("x = 1e99999999999999999999", BadJson, "flow is not TOML: it contains a number that is too long"),
        ("x = " + "[" * 100_000, InvalidRequest, "flow nests too deep"),
        ("x = " + "[" * 120 + "]" * 120, InvalidRequest, "flow nests deeper than 100 levels"),
        ("", InvalidRequest, "flow has no steps, expected at least one: a [[steps]] table with its `type`"),
        (
            "steps = []",
            InvalidRequest,
            "flow has no steps, expected at least one: a [[steps]] table with its `type`",
        ),
        ("steps = [1]", InvalidRequest, "steps[0] is 1, expected a step with its `type`"),
        ("name = 1\nsteps = []", InvalidRequest, "flow.name is 1, expected text"),
        ("stps = []", InvalidRequest, "flow has an unknown key 'stps', expected: name, steps"),
        (
            toml("seconds = 1\n"),
            InvalidRequest,
            "steps[0].type is missing, expected one of: xTransfer, swap, Remark, chainQuery, chainTx, http, webhook, delay",
        ),
        (
            toml("type = 'teleport'\n"),
            InvalidRequest,
            "steps[0].type 'teleport' is not a step type, expected one of: xTransfer, swap, Remark, chainQuery, chainTx, http, webhook, delay",
        ),
        (
            toml(STEP["delay"], STEP["delay"] + "secnds = 1\n"),
            InvalidRequest,
            "steps[1] has an unknown key 'secnds', a delay step takes: type, id, after, seconds",
        ),
        (
            toml("type = 'delay'\n"),
            InvalidRequest,
            "steps[0].seconds is missing, a delay step needs: seconds",
        ),
        (toml(STEP["delay"] + "id = 1\n"), InvalidRequest, "steps[0].id is 1, expected text"),
        (
            toml(STEP["delay"] + "id = 'a'\n", STEP["delay"] + "id = 'a'\n"),
            InvalidRequest,
            "steps[1].id 'a' is already used by steps[0]",
        ),
        (
            toml(STEP["delay"] + "id = 'a'\n", STEP["delay"] + "after = ['b']\n"),
            InvalidRequest,
            "steps[1].after 'b' is not the id of a step, expected one of: a",
        ),
        (
            toml(STEP["delay"], STEP["delay"] + "after = 'b'\n"),
            InvalidRequest,
            "steps[1].after 'b' is not the id of a step, expected one of: none, no step has an id",
        ),
        (
            toml(STEP["delay"] + "after = 1\n"),
            InvalidRequest,
            "steps[0].after is 1, expected a list of step ids",
        ),
        (
            toml(STEP["delay"] + "id = 'a'\nafter = ['b']\n", STEP["delay"] + "id = 'b'\n"),
            InvalidRequest,
            "the steps wait for each other in a cycle: 'a > b > a'",
        ),
        (
            toml("type = 'webhook'\nname = 2026-11-20\n"),
            InvalidRequest,
            "steps[0].name is a date or a time, expected text: write it in quotes",
        ),
    ],
)
def test_a_flow_that_is_not_one_is_refused(text: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as refused:
        read_flow(text)

    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("kind", "old", "new", "sentence"),
    [
        (
            "xTransfer",
            '"polkadot"',
            '"polkadoot"',
            "steps[0].source_chain 'polkadoot' is not a chain, expected one of: polkadot, assetHub, hydraDx, "
            "kusama, assetHub_kusama, paseo, assetHub_paseo, pop, passetHub",
        ),
        (
            "xTransfer",
            "1.5",
            "-1",
            "steps[0].amount -1 is negative, expected a number above zero",
        ),
        (
            "xTransfer",
            "1.5",
            "inf",
            "steps[0].amount 'Infinity' is not a number, expected digits with an optional point, like 1.5",
        ),
        (
            "xTransfer",
            "1.5",
            "true",
            "steps[0].amount True is not a number, expected digits with an optional point, like 1.5",
        ),
        (
            "xTransfer",
            "1.5",
            "0.00000000001",
            "steps[0].amount 0.00000000001 has too many decimals, DOT has 10",
        ),
        (
            "xTransfer",
            BOB,
            BOB[:-1] + "4",
            f"steps[0].destination_address '{BOB[:-1]}4' has a wrong checksum, it was mistyped or cut: copy the address again",
        ),
        (
            "swap",
            "assetin = 5",
            "assetin = 0",
            "steps[0].assetout '0' is the asset sold, expected another one to receive",
        ),
        (
            "swap",
            "assetin = 5",
            'assetin = 5\nchain = "polkadot"',
            "steps[0].chain 'polkadot' has no exchange, expected one of: hydraDx",
        ),
        ("swap", "900000000000000", "0", "steps[0].min_amount_out 0 is zero, expected a number above zero"),
        (
            "swap",
            "900000000000000",
            "1.5",
            "steps[0].min_amount_out '1.5' has a fraction, but is counted in the smallest unit: expected a whole number",
        ),
        (
            "swap",
            "0.5",
            "100",
            "steps[0].slippage 100 is not a share in per cent, expected 0 to 99.9, like 0.5",
        ),
        ("swap", "0.5", "0.5\nroute = '5>0'", None),
        ("Remark", '"hello"', '""', "steps[0].text is empty, expected the text of the remark"),
        ("Remark", "true", '"yes"', "steps[0].plain is 'yes', expected true or false"),
        ("chainQuery", '"System"', '""', "steps[0].pallet_name is empty, expected text"),
        ("chainQuery", '["{{ address }}"]', '"x"', "steps[0].params is 'x', expected a list"),
        (
            "chainQuery",
            "params",
            'block = "0x12"\nparams',
            "steps[0].block '0x12' is not a block, expected its hash (0x and 64 hex digits) or its number",
        ),
        (
            "chainTx",
            '{ remark = "0x6869" }',
            "[1]",
            "steps[0].params is a list, expected a table of name and value",
        ),
        (
            "http",
            "https://example.org/hook",
            "ftp://example.org",
            "steps[0].url 'ftp://example.org' is not an http address, expected one like https://example.org/path",
        ),
        (
            "http",
            "https://",
            "https://me:secret@",
            "steps[0].url contains a user or a password, expected them in a header",
        ),
        (
            "http",
            '"POST"',
            '"SEND"',
            "steps[0].method 'SEND' is not a method, expected one of: GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS",
        ),
        (
            "http",
            "Accept =",
            '"Acc ept" =',
            "steps[0].headers 'Acc ept' is not the name of a header, expected one like Accept",
        ),
        (
            "http",
            '"application/json"',
            '"a\\r\\nb"',
            "steps[0].headers.Accept is not the value of a header, expected one line of text",
        ),
        (
            "webhook",
            '"payments"',
            '"payments"\nuuid = "12"',
            "steps[0].uuid '12' is not a UUID, expected one like 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d",
        ),
        ("delay", "0.5", "86401", "steps[0].seconds 86401 is longer than a day, expected at most 86400"),
        ("delay", "0.5", "0", "steps[0].seconds 0 is zero, expected a number above zero"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_its_step_and_key(
    app: Application, kind: str, old: str, new: str, sentence: str | None
) -> None:
    step = STEP[kind].replace(old, new, 1)
    assert step != STEP[kind]

    with pytest.raises(InvalidRequest) as refused:
        draw(app, step)

    assert str(refused.value) == sentence or (sentence is None and "steps[0].route" in str(refused.value))


def test_a_field_that_a_webhook_fills_is_kept_for_it(app: Application) -> None:
    step = STEP["xTransfer"].replace("1.5", '"{{ amount }}"').replace(f'"{BOB}"', '"{{ to }}"')
    step = step.replace('"DOT"', '"{{ asset }}"')
    document = draw(app, STEP["webhook"], step)

    action = forms(document)["action_000003"]["actionData"]
    assert action["source"]["amount"] == "{{ amount }}"
    assert action["source"]["assetId"] == "{{ asset }}"
    assert action["target"] == {"chain": "assetHub", "assetId": None, "address": "{{ to }}", "symbol": None}
    assert [(p.sentence, p.waiting) for p in finish(find_problems(app, read_diagram(document)))] == [
        ("source.assetId waits for webhook data: {{ asset }}", True)
    ]


def test_a_pill_names_a_step_by_its_id(app: Application) -> None:
    """In the diagram it is the node's, of which a flow file knows nothing."""
    document = draw(
        app,
        'id = "paid"\ntype = "webhook"\nname = "payments"\n',
        'id = "rates"\ntype = "http"\nurl = "https://example.org/{{ paid.currency }}"\nbody = { to = ["{{paid.to}}", "{{ to }}"] }\n',
        'id = "supply"\ntype = "chainQuery"\nchain = "polkadot"\npallet_name = "Balances"\nmethod_name = "TotalIssuance"\n',
        'id = "said"\ntype = "Remark"\nchain = "polkadot"\ntext = "{{ rates.body.n }} {{ supply }} {{ later.body }} {{ eventData.content.paid }}"\n',
        'id = "later"\ntype = "http"\nurl = "https://example.org/{{ said.x }}"\n',
    )

    found = forms(document)
    assert found["http_000002"]["url"] == "https://example.org/{{ webhook_000001.currency }}"
    assert found["http_000002"]["requestContent"] == '{"to": [{{ webhook_000001.to }}, {{ to }}]}'
    (remark,) = [form for form in found.values() if form.get("action") == "Remark"]
    # A step that comes later gives nothing, and neither does a remark: these are a webhook's fields.
    assert remark["actionData"]["source"]["target"] == (
        "{{ http_000002.body.n }} {{ chainQuery_000003 }} {{ later.body }} {{ eventData.content.paid }}"
    )
    assert [form["url"] for name, form in found.items() if name.startswith("http_")][1] == (
        "https://example.org/{{ said.x }}"
    )


def test_a_file_above_the_limit_is_not_parsed() -> None:
    with pytest.raises(TooLarge) as refused:
        read_flow("#" * (1024 * 1024 + 1))

    assert str(refused.value) == "flow is larger than 1048576 bytes"


def test_more_steps_than_a_diagram_holds_are_too_large(app: Application) -> None:
    with pytest.raises(TooLarge) as refused:
        draw(app, *["type='delay'\nseconds=1\n"] * 10_001)

    assert str(refused.value) == "the diagram would have more than 10000 nodes"


#: Each kind of step with the keys that it must have and those that it may have.
STEPS = {step.name: (step.flow.required, step.flow.optional) for step in all_steps() if step.flow is not None}
STEP_LIKE = st.fixed_dictionaries(
    {"type": st.sampled_from(list(STEPS))},
    optional={key: documents for row in STEPS.values() for keys in row for key in keys},
) | st.sampled_from(list(STEPS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {"type": st.just(kind), **dict.fromkeys(STEPS[kind][0], documents)},
        optional=dict.fromkeys(STEPS[kind][1], documents),
    )
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(documents | st.fixed_dictionaries({"steps": st.lists(STEP_LIKE, min_size=1, max_size=3)}))
def test_any_content_is_a_flow_or_a_sentence(app: Application, content: Any) -> None:
    try:
        document = draw_flow(app, read_flow(content, syntax="json")).document
    except ScenarioctlError as refused:
        assert "\n" not in str(refused)
        return

    assert len(read_diagram(document).in_order()) == len(document["nodes"])


def test_the_documentation_shows_every_step_and_all_of_it_works(app: Application) -> None:
    text = (ROOT / "docs" / "flow.md").read_text()
    examples = re.findall(r"```(toml|json)\n(.*?)```", text, re.DOTALL)

    drawn = [draw_flow(app, read_flow(example, syntax=syntax)).document for syntax, example in examples]

    assert drawn
    for kind, (required, optional) in STEPS.items():
        assert f'type = "{kind}"' in text
        for key in (*required, *optional):
            assert f"`{key}`" in text
    for document in drawn:
        diagram = read_diagram(document)
        assert [
            problem.sentence for problem in finish(find_problems(app, diagram)) if not problem.waiting
        ] == []


class TestCreation:
    """What a flow file cannot mean is refused where it is created, in the words of the file."""

    @pytest.fixture
    def served(self, tmp_path: Any) -> Iterator[Application]:
        made = Application(
            Settings(config=tmp_path / "c", store=str(tmp_path / "s"), cache=tmp_path / "r", offline=True)
        )
        yield made
        finish(made.close())

    def refusal(self, app: Application, *steps: str) -> str:
        with pytest.raises(InvalidRequest) as refused:
            finish(create_flow(app, CreateFlow(flow=toml(*steps))))
        assert finish(app.store.count_scenarios()) == 0
        return str(refused.value)

    @pytest.mark.parametrize(
        ("kind", "old", "new", "sentence"),
        [
            (
                "xTransfer",
                "1.5",
                "0.00000000001",
                "steps[1].amount 0.00000000001 has too many decimals, DOT has 10",
            ),
            (
                "xTransfer",
                'dest_chain = "assethub"',
                'dest_chain = "kusama"',
                "steps[1]: DOT cannot be sent from polkadot to kusama: ",
            ),
            (
                "chainTx",
                '"System"',
                '"Sistem"',
                "steps[1].pallet_name 'Sistem' is not in polkadot 2000000, expected one of: ",
            ),
            (
                "chainTx",
                '"remark"',
                '"remrak"',
                "steps[1].method_name 'remrak' is not in System of polkadot 2000000, expected one of: ",
            ),
            (
                "chainTx",
                'remark = "0x6869"',
                'text = "0x6869"',
                "steps[1]: System.remark has no parameter 'text', expected: remark",
            ),
            (
                "chainTx",
                '"0x6869"',
                '"0x686"',
                "steps[1]: System.remark: parameter remark '0x686' does not fit ",
            ),
            (
                "swap",
                "900000000000000",
                '"{{ least }}"',
                "steps[1].min_amount_out needs 'least', which no earlier step provides",
            ),
            (
                "Remark",
                '"hello"',
                '"paid {{ query.free }}"',
                "steps[1].text needs 'query.free', which no earlier step provides",
            ),
            (
                "chainTx",
                '"0x6869"',
                '"{{ http.body.x }}"',
                "steps[1].params needs 'http.body.x', which no earlier step provides",
            ),
            (
                "http",
                "1.50",
                '"{{ eventData.content.x }}"',
                "steps[1].body needs 'x', which no earlier step provides",
            ),
            (
                "chainQuery",
                "{{ address }}",
                "{{ address }}",
                "steps[1].params needs 'address', which no earlier step provides",
            ),
        ],
    )
    def test_a_refusal_names_step_and_key(
        self, served: Application, kind: str, old: str, new: str, sentence: str
    ) -> None:
        assert old in STEP[kind]

        refused = self.refusal(served, STEP["delay"], STEP[kind].replace(old, new))

        assert refused.startswith(sentence)

    def test_an_answer_has_no_other_parts_than_its_own(self, served: Application) -> None:
        said = STEP["Remark"].replace("hello", "{{ http.json.price }}")

        assert self.refusal(served, STEP["http"], said) == (
            "steps[1].text needs 'http.json.price', but an http step's answer has only: status, headers, body"
        )

    def test_a_step_that_comes_later_fills_nothing(self, served: Application) -> None:
        first = STEP["Remark"].replace("hello", "{{ rates.body }}")

        assert self.refusal(served, first, 'id = "rates"\n' + STEP["http"]) == (
            "steps[0].text needs 'rates.body', which no earlier step provides"
        )

    @pytest.mark.parametrize(
        ("giving", "text"),
        [
            ("webhook", "{{ anything.at.all }}"),
            ("webhook", "{{ http }}"),
            ("webhook", "{{ eventData.content.x }}"),
            ("http", "{{ http.status }} {{ http.headers.etag }} {{ http.body.0 }} {{ given.body }}"),
            ("chainQuery", "{{ query.free }} {{ given.free }}"),
        ],
    )
    def test_what_a_step_before_it_gives_is_waited_for(
        self, served: Application, giving: str, text: str
    ) -> None:
        step = STEP[giving].replace("{{ address }}", BOB)

        created = finish(
            create_flow(
                served,
                CreateFlow(flow=toml('id = "given"\n' + step, STEP["Remark"].replace("hello", text))),
            )
        )

        assert created.answer["result"]

    def test_a_scenario_of_one_step_has_nothing_that_fills_it(self, served: Application) -> None:
        requests: list[tuple[Any, Any, str]] = [
            (create_remark, CreateRemark(chain="polkadot", text="{{ a }}"), "text"),
            (
                create_query,
                CreateQuery(
                    chain="polkadot", pallet_name="System", method_name="Account", params=("{{ a }}",)
                ),
                "params",
            ),
            (
                create_scenario,
                CreateScenario(
                    source_chain="polkadot",
                    dest_chain="assetHub",
                    destination_address="{{ a }}",
                    amount="1.5",
                    assetid="DOT",
                ),
                "destination_address",
            ),
            (
                create_swap,
                CreateSwap(assetin=5, assetout=0, amount="1", min_amount_out="{{ a }}"),
                "min_amount_out",
            ),
        ]
        for create, request, field in requests:
            with pytest.raises(InvalidRequest) as refused:
                finish(create(served, request))

            assert str(refused.value) == f"{field} needs 'a', which no earlier step provides"
        assert finish(served.store.count_scenarios()) == 0

    def test_every_creation_encodes_its_transfer_anew(
        self, served: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A smaller amount of a transfer that was created before is not taken on trust."""
        encode_call, encoded = RuntimeTable.encode_call, []

        def encode(table: RuntimeTable, call: Call) -> bytes:
            encoded.append(call)
            if len(encoded) == 3:
                raise InvalidRequest("this runtime takes it no more")
            return encode_call(table, call)

        monkeypatch.setattr(RuntimeTable, "encode_call", encode)

        def create(amount: str) -> str:
            request = CreateScenario(
                source_chain="hydraDx",
                dest_chain="polkadot",
                destination_address=BOB,
                amount=amount,
                assetid=5,
            )
            try:
                return ", ".join(finish(create_scenario(served, request)).warnings)
            except InvalidRequest as error:
                return str(error)

        said = [create(amount) for amount in ("20", "10", "10", "0.5", "10")]

        assert "half of the amount (10 DOT) is set aside" in said[0]
        assert "half of the amount (5 DOT) is set aside" in said[1]
        assert said[2] == "this runtime takes it no more"
        assert said[3].startswith("amount 0.5 DOT is too small")
        assert said[4] == said[1]
        assert len(encoded) == 4
