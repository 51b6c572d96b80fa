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
from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import BadJson, InvalidRequest, ScenarioctlError, TooLarge
from scenarioctl.formats.diagram_builder import DiagramBuilder
from scenarioctl.model.diagram import read_diagram
from scenarioctl.operations.creation import (
    CreateFlow,
    create_flow,
)
from tests.conftest import BOB, ROOT
from tests.drawing import make_app
from tests.messages import Says, says
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
    "condition": 'type = "condition"\nwhen = "{{ http.status }} = 200"\nelse = "end"\n',
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    made = make_app(tmp_path_factory.mktemp("app"))
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
                "requestContent": '{"amount": "1.5", "to": ["a"]}',
                "contentType": "application/json",
                "parseResponse": "yes",
            },
        ),
        ("webhook", "webhook_000001", {"webhookName": "payments", "uuid": UUID}),
        ("delay", "delay_000001", {"seconds": "0.5"}),
        ("condition", "condition_000001", {"when": "{{ http.status }} = 200", "otherwise": "end"}),
    ],
)
def test_each_kind_of_step_gets_the_editors_form(
    app: Application, kind: str, node: str, form: dict[str, Any]
) -> None:
    document = draw(app, STEP[kind])

    assert forms(document)[node] == form


def test_a_graph_is_drawn_from_left_to_right(app: Application) -> None:
    document = draw(
        app,
        STEP["delay"] + 'id = "last"\nafter = ["left", "right"]\n',
        STEP["webhook"] + "after = []\nid = 'first'\n",
        STEP["http"] + "id = 'left'\nafter = 'first'\n",
        STEP["chainTx"] + "id = 'right'\nafter = ['first']\n",
    )

    places = {
        node["id"]: (node["position"]["x"], node["position"]["y"]) for node in document["nodes"]
    }
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


def test_json_says_the_same_as_toml(app: Application) -> None:
    as_json = json.dumps(
        {"steps": [{"type": "delay", "seconds": 0.5}, {"type": "webhook", "name": "payments"}]}
    )
    drawn = draw_flow(app, read_flow(as_json, syntax="json"), builder=canvas()).document

    assert drawn == draw(app, STEP["delay"], STEP["webhook"])
    assert drawn == draw_flow(app, read_flow(json.loads(as_json)), builder=canvas()).document


def test_amounts_of_a_flow_file_are_never_rounded(app: Application) -> None:
    amount = "123456789012345.123456789012"
    step = STEP["swap"].replace('"2"', amount).replace("assetin = 5", "assetin = 'HDX'")
    step = step.replace('assetout = "HDX"', "assetout = 5")

    document = draw(app, step)

    assert forms(document)["action_000002"]["actionData"]["source"]["amount"] == amount


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("name = ", BadJson, says("TOML", "document")),
        ("x = " + "9" * 5000, InvalidRequest, says("flow", "1000")),
        ("x = " + "[" * 100_000, InvalidRequest, says("flow", "nests")),
        ("", InvalidRequest, says("flow", "steps")),
        ("steps = []", InvalidRequest, says("flow", "steps")),
        ("stps = []", InvalidRequest, says("unknown", "stps")),
        (toml("seconds = 1\n"), InvalidRequest, says("steps[0].type", "missing")),
        (toml("type = 'teleport'\n"), InvalidRequest, says("steps[0].type", "teleport")),
        (
            toml(STEP["delay"], STEP["delay"] + "secnds = 1\n"),
            InvalidRequest,
            says("steps[1]", "secnds"),
        ),
        (toml("type = 'delay'\n"), InvalidRequest, says("steps[0].seconds", "missing")),
        (toml(STEP["delay"] + "id = 1\n"), InvalidRequest, says("steps[0].id", "1")),
        (
            toml(STEP["delay"] + "id = 'a'\n", STEP["delay"] + "id = 'a'\n"),
            InvalidRequest,
            says("steps[1].id", "a", "steps[0"),
        ),
        (
            toml(STEP["delay"] + "id = 'a'\n", STEP["delay"] + "after = ['b']\n"),
            InvalidRequest,
            says("steps[1].after", "b"),
        ),
        (toml(STEP["delay"] + "after = 1\n"), InvalidRequest, says("steps[0].after", "1")),
        (
            toml(STEP["delay"] + "id = 'a'\nafter = ['b']\n", STEP["delay"] + "id = 'b'\n"),
            InvalidRequest,
            says("steps", "a > b > a"),
        ),
        (
            toml("type = 'webhook'\nname = 2026-11-20\n"),
            InvalidRequest,
            says("steps[0].name", "date"),
        ),
    ],
)
def test_a_flow_that_is_not_one_is_refused(
    text: str, error: type[Exception], sentence: Says
) -> None:
    with pytest.raises(error) as refused:
        read_flow(text)

    assert str(refused.value) == sentence


def test_a_field_that_a_webhook_fills_is_kept_for_it(app: Application) -> None:
    step = STEP["xTransfer"].replace("1.5", '"{{ amount }}"').replace(f'"{BOB}"', '"{{ to }}"')
    step = step.replace('"DOT"', '"{{ asset }}"')
    document = draw(app, STEP["webhook"], step)

    action = forms(document)["action_000003"]["actionData"]
    assert action["source"]["amount"] == "{{ amount }}"
    assert action["source"]["assetId"] == "{{ asset }}"
    assert action["target"] == {
        "chain": "assetHub",
        "assetId": None,
        "address": "{{ to }}",
        "symbol": None,
    }
    assert [
        (p.sentence, p.waiting) for p in finish(find_problems(app, read_diagram(document)))
    ] == [(says("source.assetId", "webhook"), True)]


def test_a_pill_names_a_step_by_its_id(app: Application) -> None:
    """In the diagram it is the node's, of which a flow file knows nothing."""
    document = draw(
        app,
        'id = "paid"\ntype = "webhook"\nname = "payments"\n',
        (
            'id = "rates"\ntype = "http"\nurl = "https://example.org/{{ paid.currency '
            '}}"\nbody = { to = ["{{paid.to}}", "{{ to }}"] }\n'
        ),
        (
            'id = "supply"\ntype = "chainQuery"\nchain = "polkadot"\npallet_name = '
            '"Balances"\nmethod_name = "TotalIssuance"\n'
        ),
        (
            'id = "said"\ntype = "Remark"\nchain = "polkadot"\ntext = "{{ rates.body.n }} {{ '
            'supply }} {{ later.body }} {{ eventData.content.paid }}"\n'
        ),
        'id = "later"\ntype = "http"\nurl = "https://example.org/{{ said.x }}"\n',
    )

    found = forms(document)
    assert found["http_000002"]["url"] == "https://example.org/{{ webhook_000001.currency }}"
    assert found["http_000002"]["requestContent"] == '{"to": [{{ webhook_000001.to }}, {{ to }}]}'
    (remark,) = [form for form in found.values() if form.get("action") == "Remark"]
    # A step that comes later gives nothing, and neither does a remark: these are a webhook's
    # fields.
    assert remark["actionData"]["source"]["target"] == (
        "{{ http_000002.body.n }} {{ chainQuery_000003 }} {{ later.body }} {{ "
        "eventData.content.paid }}"
    )
    assert [form["url"] for name, form in found.items() if name.startswith("http_")][1] == (
        "https://example.org/{{ said.x }}"
    )


def test_a_file_above_the_limit_is_not_parsed() -> None:
    with pytest.raises(TooLarge) as refused:
        read_flow("#" * (1024 * 1024 + 1))

    assert str(refused.value) == says("larger", "1048576")


def test_more_steps_than_a_diagram_holds_are_too_large(app: Application) -> None:
    with pytest.raises(TooLarge) as refused:
        draw(app, *["type='delay'\nseconds=1\n"] * 10_001)

    assert str(refused.value) == says("diagram", "10000")


#: Each kind of step with the keys that it must have and those that it may have.
STEPS = {
    step.name: (step.required, step.keys[len(step.required) :])
    for step in all_steps()
    if step.terms.parts
}
STEP_LIKE = st.fixed_dictionaries(
    {"type": st.sampled_from(list(STEPS))},
    optional={key: documents for row in STEPS.values() for keys in row for key in keys},
) | st.sampled_from(list(STEPS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {"type": st.just(kind), **dict.fromkeys(STEPS[kind][0], documents)},
        optional=dict.fromkeys(STEPS[kind][1], documents),
    )
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
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

    drawn = [
        draw_flow(app, read_flow(example, syntax=syntax)).document for syntax, example in examples
    ]

    assert drawn
    for kind, (required, optional) in STEPS.items():
        assert f'type = "{kind}"' in text
        for key in (*required, *optional):
            assert f"`{key}`" in text
    for document in drawn:
        diagram = read_diagram(document)
        assert [
            problem.sentence
            for problem in finish(find_problems(app, diagram))
            if not problem.waiting
        ] == []


class TestCreation:
    """What a flow file cannot mean is refused where it is created, in the words of the file."""

    @pytest.fixture
    def served(self, tmp_path: Any) -> Iterator[Application]:
        made = Application(
            Settings(
                config=tmp_path / "c", store=str(tmp_path / "s"), cache=tmp_path / "r", offline=True
            )
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
                'dest_chain = "assethub"',
                'dest_chain = "kusama"',
                says("steps[1", "DOT", "from Polkadot to Kusama"),
            ),
            ("chainTx", '"System"', '"Sistem"', says("steps[1].pallet_name", "Sistem", "2000000")),
            (
                "chainTx",
                'remark = "0x6869"',
                'text = "0x6869"',
                says("steps[1", "System.remark", "text"),
            ),
            (
                "swap",
                "900000000000000",
                '"{{ least }}"',
                says("steps[1].min_amount_out", "least"),
            ),
            (
                "Remark",
                '"hello"',
                '"paid {{ query.free }}"',
                says("steps[1].text", "query.free"),
            ),
            (
                "chainTx",
                '"0x6869"',
                '"{{ http.body.x }}"',
                says("steps[1].params", "http.body.x"),
            ),
            (
                "chainQuery",
                "{{ address }}",
                "{{ address }}",
                says("steps[1].params", "address"),
            ),
        ],
    )
    def test_a_refusal_names_step_and_key(
        self, served: Application, kind: str, old: str, new: str, sentence: Says
    ) -> None:
        assert old in STEP[kind]

        refused = self.refusal(served, STEP["delay"], STEP[kind].replace(old, new))

        assert refused == sentence

    @pytest.mark.parametrize(
        ("giving", "text"),
        [
            ("webhook", "{{ anything.at.all }}"),
            ("webhook", "{{ http }}"),
            ("webhook", "{{ eventData.content.x }}"),
            (
                "http",
                "{{ http.status }} {{ http.headers.etag }} {{ http.body.0 }} {{ given.body }}",
            ),
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
                CreateFlow(
                    flow=toml('id = "given"\n' + step, STEP["Remark"].replace("hello", text))
                ),
            )
        )

        assert created.answer["result"]
