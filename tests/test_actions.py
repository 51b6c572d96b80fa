"""What the nodes of a diagram do: pills, forms, summaries, drafts."""

import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarioctl.actions import all_steps, chain_tx, webhook
from scenarioctl.actions.drafting import Drafted
from scenarioctl.actions.drafts import draft_first
from scenarioctl.actions.flow_files import draw_single
from scenarioctl.actions.placeholders import (
    Data,
    WaitsForData,
    display,
    find_placeholders,
    has_placeholder,
    require_filled,
)
from scenarioctl.actions.problems import find_problems
from scenarioctl.actions.story import chains_of, summarise, tell_step
from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import ChainUnreachable, InvalidRequest, ScenarioctlError
from scenarioctl.formats.diagram_builder import DiagramBuilder
from scenarioctl.model.diagram import Diagram, Node, read_diagram
from tests.conftest import BOB, BOB_HEX, examples
from tests.messages import Says, says
from tests.runner import finish
from tests.test_documents import documents

PILL = (
    '<span class="pill" data-id="eventData.content.address" data-text="1. address" '
    'data-nodeindex="1" style="background-color: purple;">1. address</span>\u200b'
)
UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Application:
    return application(tmp_path_factory.mktemp("app"))


def application(path: Path, **settings: Any) -> Application:
    return Application(
        Settings(
            config=path / "c",
            store=str(path / "s"),
            cache=path / "r",
            **{"offline": True, **settings},
        )
    )


def canvas() -> DiagramBuilder:
    numbers = count(1)
    return DiagramBuilder(new_suffix=lambda: f"{next(numbers):06x}")


def node(kind: str, form: Any = None) -> Node:
    return diagram((kind, form)).nodes[0]


def diagram(*nodes: tuple[str, Any], edges: str = "") -> Diagram:
    """Return nodes `a`, `b`, … of these types and forms, with edges like `ab bc`."""
    return read_diagram(
        {
            "nodes": [
                {"id": "abcdefgh"[n], "type": kind, "formData": form}
                for n, (kind, form) in enumerate(nodes)
            ],
            "edges": [{"source": pair[0], "target": pair[1]} for pair in edges.split()],
        }
    )


def transfer_form(**changes: Any) -> dict[str, Any]:
    """Return the form of 1.5 DOT to Asset Hub; `source_amount="2"` changes a value, None takes it
    away."""
    sides: dict[str, dict[str, Any]] = {
        "source": {
            "chain": "polkadot",
            "assetId": 0,
            "address": None,
            "amount": "1.5",
            "symbol": "DOT",
        },
        "target": {"chain": "assetHub", "assetId": 1000, "address": BOB, "symbol": "DOT"},
    }
    for name, value in changes.items():
        side, _, key = name.partition("_")
        sides[side][key] = value
    return {"action": "xTransfer", "actionData": {"actionType": "xTransfer", **sides}}


def draft(app: Application, *nodes: tuple[str, Any], edges: str = "") -> Drafted:
    return finish(draft_first(app, diagram(*nodes, edges=edges)))


def refusal(app: Application, *nodes: tuple[str, Any], edges: str = "") -> str:
    with pytest.raises(InvalidRequest) as refused:
        draft(app, *nodes, edges=edges)
    return str(refused.value)


class TestPills:
    @pytest.mark.parametrize(
        ("text", "paths"),
        [
            ("", ()),
            (PILL, ("address",)),
            ("{{ address }}", ("address",)),
            ("{{ eventData.content.address }}", ("address",)),
            ("to {{ user.name }}, " + PILL, ("user.name", "address")),
            ('<span data-id="a.b" class="x pill">1</span>', ("a.b",)),
            ("<span class='pill' data-id='a&amp;b'>1</span>", ("a&b",)),
            ('<span class="pill" data-text="a > b" data-id="x">1</span>', ("x",)),
            # None of these is one.
            ('<span class="pillow" data-id="a">1</span>', ()),
            ('<span class="pill" data-id="a">1', ()),
            ("{{ }}", ()),
            ("{{ a b }}", ()),
            ("{{ 'x'.upper() }}", ("'x'.upper()",)),
        ],
    )
    def test_pills_are_found_in_either_spelling(self, text: str, paths: tuple[str, ...]) -> None:
        assert find_placeholders(text) == paths
        assert has_placeholder(text) == bool(paths)

    def test_a_field_with_a_pill_is_not_settled(self) -> None:
        with pytest.raises(WaitsForData) as waits:
            require_filled(PILL, field="source.address")

        assert str(waits.value) == says("source.address", "webhook")
        assert require_filled("plain", field="source.address") == "plain"

    def test_pills_are_shown_as_a_person_writes_them(self) -> None:
        assert display("to " + PILL) == "to {{ address }}"

    @pytest.mark.parametrize(
        "text",
        [
            "<span" * 200_000,
            "{{" * 400_000,
            "{{ a " * 200_000,
            "<span a" * 150_000,
            '<span class="pill" data-id="x">' * 30_000,
            "<span" + " a" * 400_000,
            "<span a='" * 100_000,
        ],
        ids=["spans", "braces", "names", "attributes", "unclosed", "one span", "quotes"],
    )
    def test_a_hostile_text_is_searched_in_linear_time(self, text: str) -> None:
        # Of this process alone: others may keep it waiting.
        started = time.process_time()
        found = find_placeholders(text)

        assert found == ()
        assert time.process_time() - started < 10


class TestSummary:
    @pytest.mark.parametrize(
        ("nodes", "edges", "summary"),
        [
            ([("chain", {"chain": "AssetHub"})], "", "assetHub"),
            ([("chain", {"chain": " my\nchain"})], "", "my chain"),
            ([("chain", {"chain": "x" * 100})], "", "x" * 47 + "…"),
            ([("chain", None), ("webhook", None)], "", "webhook"),
            ([("action", {"action": "xtransfer"})], "", "xTransfer"),
            ([("action", {"action": "remark"}), ("action", {"action": "stake"})], "", "Remark"),
            ([("action", {}), ("action", {"action": None}), ("action", {"action": []})], "", ""),
            (
                [("chainTx", {"selectedChain": "polkadot"}), ("chainTx", {})],
                "",
                "tx(polkadot) > tx",
            ),
            (
                [("chainQuery", {"selectedChain": "Polkadot"}), ("chainQuery", {})],
                "",
                "query(polkadot) > query",
            ),
            ([("group", {"chain": "polkadot"}), ("delay", {}), ("http", {})], "", "delay > http"),
            ([("delay", {}), ("http", {}), ("webhook", {})], "cb ba", "webhook > http > delay"),
            # A graph that cannot be ordered is told in the order of the file.
            ([("delay", {}), ("http", {})], "ab ba", "delay > http"),
        ],
    )
    def test_a_diagram_is_told_in_one_line(
        self, nodes: list[tuple[str, Any]], edges: str, summary: str
    ) -> None:
        assert summarise(diagram(*nodes, edges=edges)) == summary

    def test_the_chains_of_a_diagram_are_those_of_any_node(self) -> None:
        found = diagram(
            ("chain", {"chain": "PolkaDot"}),
            ("action", transfer_form(source_chain="kusama", target_chain="asset-hub")),
            ("chainTx", {"selectedChain": "hydration"}),
            ("unheard-of", {"chain": "paseo"}),
            ("chain", {"chain": "{{ chain }}"}),
            ("chain", {"chain": ["x"]}),
            ("chain", {"chain": " Moon Beam "}),
            ("action", {"actionData": "x"}),
        )

        assert chains_of(found) == {
            "polkadot",
            "kusama",
            "assetHub",
            "hydraDx",
            "paseo",
            "moonbeam",
        }

    @pytest.mark.parametrize(
        ("kind", "form", "line"),
        [
            (
                "chain",
                {"chain": "polkadot", "amount": "2", "asset": {"symbol": "DOT"}},
                "polkadot, 2 DOT",
            ),
            ("chain", {}, says("chain", "chosen")),
            (
                "action",
                transfer_form(),
                says("1.5", "DOT", "from Polkadot to Polkadot Asset Hub", BOB),
            ),
            ("action", {"action": "swap"}, "? ? for ? on ?"),
            (
                "action",
                {"action": "Remark", "actionData": {"source": {"target": "a\nb"}}},
                "'a b' on ?",
            ),
            ("action", {"action": "stake"}, says("action", "chosen")),
            (
                "chainTx",
                {"selectedChain": "polkadot", "selectedPallet": "System"},
                "System.?() on Polkadot",
            ),
            ("http", {"url": "https://example.org"}, "GET https://example.org"),
            (
                "http",
                {"url": "https://example.org/rates?key=secret#x"},
                "GET https://example.org/rates?…",
            ),
            ("webhook", {"uuid": UUID}, says("POST", UUID)),
            ("delay", {"seconds": 5}, "waits 5 s"),
            ("group", {}, says("unknown", "skipped")),
        ],
    )
    def test_a_node_is_told_in_one_line(
        self, app: Application, kind: str, form: Any, line: Says
    ) -> None:
        found = diagram((kind, form))

        assert tell_step(app, found, found.nodes[0]).sentence == line


class TestTransfersOfTheOriginalApi:
    """The API that the editor came with repeats the source's asset id in the target, and has no
    symbols and no edges."""

    def form(self, source: str, destination: str, asset: Any, amount: str) -> tuple[str, Any]:
        sides = {
            "source": {"chain": source, "assetId": asset, "address": "not set", "amount": amount},
            "target": {"chain": destination, "assetId": str(asset), "address": BOB},
        }
        return "action", {"action": "xTransfer", "actionData": {"actionType": "xTransfer", **sides}}

    @pytest.mark.parametrize(
        ("source", "destination", "asset", "amount"),
        [
            ("polkadot", "assetHub", 0, "1.5"),
            ("polkadot", "hydraDx", 0, "2"),
            ("assetHub", "hydraDx", 1984, "20"),
            ("hydraDx", "assetHub", 10, "20"),
            ("hydraDx", "polkadot", 5, "2"),
        ],
    )
    def test_a_target_that_repeats_the_id_is_the_same_asset(
        self, app: Application, source: str, destination: str, asset: int, amount: str
    ) -> None:
        drafted = draft(app, self.form(source, destination, asset, amount))

        flow: dict[str, Any] = {
            "source_chain": source,
            "dest_chain": destination,
            "destination_address": BOB,
        }
        ours = read_diagram(draw_single(app, "xTransfer", **flow, amount=amount, assetid=asset))
        assert drafted.transaction.call_data == finish(draft_first(app, ours)).transaction.call_data


class TestTransfer:
    @pytest.mark.parametrize("target", [None, "", "DOT", "native", "1000", 1000])
    def test_a_target_asset_that_is_missing_means_the_same(
        self, app: Application, target: Any
    ) -> None:
        drafted = draft(app, ("action", transfer_form(target_assetId=target)))

        assert drafted.asset == "0"

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"source_chain": None}, says("source.chain", "missing")),
            ({"source_chain": 7}, says("source.chain", "7")),
            ({"target_chain": ""}, says("target.chain", "missing")),
            ({"source_assetId": None, "source_symbol": None}, says("source.assetId", "missing")),
            ({"source_amount": "0"}, says("source.amount", "0")),
            ({"target_address": None}, says("target.address", "missing")),
            ({"target_address": PILL}, says("target.address", "webhook")),
            ({"source_amount": "{{ amount }}"}, says("source.amount", "webhook")),
            (
                {"target_assetId": 1984, "target_symbol": ""},
                says("0", "1984", "DOT", "USDt", "Polkadot Asset Hub"),
            ),
        ],
    )
    def test_what_cannot_be_sent_is_refused_by_its_field(
        self, app: Application, changes: dict[str, Any], sentence: Says
    ) -> None:
        assert refusal(app, ("action", transfer_form(**changes))) == sentence

    def test_an_asset_of_unknown_decimals_is_not_sent_in_whole_tokens(
        self, app: Application
    ) -> None:
        form = transfer_form(
            source_chain="assetHub", source_assetId=4242424, source_symbol=None, target_assetId=None
        )

        assert refusal(app, ("action", form)) == says("source.amount", "1.5", "4242424")

    def test_a_chain_without_a_runtime_table_is_unreachable(self, app: Application) -> None:
        form = transfer_form(
            source_chain="paseo",
            target_chain="assetHub_paseo",
            source_symbol="PAS",
            target_symbol="PAS",
        )

        with pytest.raises(ChainUnreachable) as refused:
            draft(app, ("action", form))

        assert str(refused.value).startswith("no runtime table of Paseo is stored")


SOURCE = ("chain", {"chain": "polkadot", "asset": {"assetId": 0, "symbol": "DOT"}, "amount": "3"})
TARGET = (
    "chain",
    {"chain": "assetHub", "asset": {"assetId": 1000, "symbol": "DOT"}, "address": BOB},
)


class TestNeighbours:
    def test_an_action_without_data_is_told_by_its_neighbours(self, app: Application) -> None:
        drafted = draft(app, SOURCE, ("action", {"action": "xTransfer"}), TARGET, edges="ab bc")

        assert (drafted.summary, drafted.raw_amount) == (
            "polkadot > xTransfer > assetHub",
            30000000000,
        )

    def test_steps_that_hold_no_assets_may_stand_between(self, app: Application) -> None:
        nodes = [SOURCE, ("delay", {"seconds": 1}), ("action", {"action": "xTransfer"}), TARGET]

        assert draft(app, *nodes, edges="ab bc cd").raw_amount == 30000000000

    def test_a_side_that_the_data_has_is_taken_from_there(self, app: Application) -> None:
        form = transfer_form()
        form["actionData"]["target"] = None

        assert draft(app, SOURCE, ("action", form), TARGET, edges="ab bc").raw_amount == 15000000000

    def test_the_chain_of_another_action_is_not_a_neighbour(self, app: Application) -> None:
        nodes = [SOURCE, ("action", transfer_form()), ("action", {"action": "Remark"})]
        found = finish(find_problems(app, diagram(*nodes, edges="ab bc")))

        assert [(p.node, p.sentence) for p in found] == [("c", says("source.chain", "missing"))]

    def test_two_chains_on_one_side_are_not_clear(self, app: Application) -> None:
        nodes = [SOURCE, SOURCE, ("action", {"action": "xTransfer"}), TARGET]

        assert refusal(app, *nodes, edges="ac bc cd") == says("a", "b")

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            ([], says("actionData", "list")),
            ({"source": 5}, says("actionData.source", "5")),
            ({"source": {}}, says("source.chain", "missing")),
        ],
    )
    def test_data_of_the_wrong_shape_is_refused(
        self, app: Application, data: Any, sentence: Says
    ) -> None:
        assert refusal(app, ("action", {"action": "xTransfer", "actionData": data})) == sentence


class TestSwap:
    def form(self, **data: Any) -> dict[str, Any]:
        side = {"chain": "hydraDx", "address": None}
        return {
            "action": "swap",
            "actionData": {
                "source": {**side, "assetId": "5", "symbol": "DOT", "amount": "2"},
                "target": {**side, "assetId": "0", "symbol": "HDX"},
                **data,
            },
        }

    def test_a_minimum_is_used_as_it_stands(self, app: Application) -> None:
        drafted = draft(app, ("action", self.form(minAmountOut="123")))

        assert dict(drafted.transaction.call.args) == {
            "asset_in": 5,
            "asset_out": 0,
            "amount": 20000000000,
            "min_buy_amount": 123,
        }
        assert (drafted.txtype, drafted.summary, drafted.asset, drafted.amount) == (
            "swap",
            "hydraDx > swap > hydraDx",
            "5",
            "2",
        )

    def test_without_a_minimum_the_chain_has_to_be_asked(self, tmp_path: Path) -> None:
        app = application(
            tmp_path, offline=False, chains={"hydraDx": {"endpoints": ["ws://127.0.0.1:9/"]}}
        )

        with pytest.raises(ChainUnreachable) as refused:
            draft(app, ("action", self.form()))

        assert str(refused.value) == says(
            "Hydration", "ws://127.0.0.1:9/", "min_received", "min_amount_out", "offline"
        )

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            ({"slippage": "100"}, says("slippage", "100")),
            ({"minAmountOut": "{{ least }}"}, says("minAmountOut", "webhook")),
            ({"target": {"chain": "hydraDx", "assetId": "5"}}, says("target.assetId", "5")),
            ({"target": {"chain": "polkadot", "assetId": "0"}}, says("target.chain", "polkadot")),
            ({"source": {"chain": "polkadot", "assetId": 0}}, says("source.chain", "polkadot")),
        ],
    )
    def test_bad_input_is_judged_before_the_chain_is_asked(
        self, app: Application, data: dict[str, Any], sentence: Says
    ) -> None:
        assert refusal(app, ("action", self.form(**data))) == sentence

    def test_a_route_that_does_not_fit_is_refused_without_a_quote(self, app: Application) -> None:
        assert "route begins with 10, expected 5" in refusal(
            app, ("action", self.form(route="10>xyk>0"))
        )


class TestChainTx:
    FORM = {  # noqa: RUF012
        "selectedChain": "assetHub",
        "selectedPallet": "balances",
        "selectedMethod": {
            "name": "transfer_keep_alive",
            "fields": [{"name": "dest"}, {"name": "value"}],
        },
        "params": {"dest": BOB, "value": "12345678900"},
    }

    def test_arguments_typed_as_text_become_a_call(self, app: Application) -> None:
        drafted = draft(app, ("chainTx", self.FORM))

        assert drafted.transaction.call_data.hex() == f"0a0300{BOB_HEX[2:]}07341cdcdf02"
        assert (drafted.txtype, drafted.summary) == ("ChainTx", "assetHub > ChainTx > assetHub")

    @pytest.mark.parametrize(
        ("form", "sentence"),
        [
            ({}, says("call", "form")),
            ({**FORM, "selectedChain": None}, says("selectedChain", "missing")),
            ({**FORM, "selectedPallet": 3}, says("selectedPallet", "3")),
            ({**FORM, "selectedMethod": None}, says("selectedMethod.name", "missing")),
            ({**FORM, "params": []}, says("params", "list")),
            ({**FORM, "params": {"dest": PILL}}, says("webhook", "address")),
        ],
    )
    def test_what_is_no_call_is_refused(self, app: Application, form: Any, sentence: Says) -> None:
        assert refusal(app, ("chainTx", form)) == sentence

    @pytest.mark.parametrize(
        "params",
        [
            {
                "{assetHub}_{balances}_{transfer_keep_alive}": {
                    "dest": {"Id": BOB},
                    "value": "12345678900",
                }
            },
            # Those of calls that were chosen before, and those of an older editor, are still there.
            {
                "dest": "nobody",
                "{assetHub}_{balances}_{transfer}": {"dest": {"Id": "0x"}, "value": "1"},
                "{assetHub}_{balances}_{transfer_keep_alive}": {"dest": BOB, "value": 12345678900},
            },
        ],
    )
    def test_arguments_kept_by_call_are_those_of_the_call_that_is_chosen(
        self, app: Application, params: dict[str, Any]
    ) -> None:
        drafted = draft(app, ("chainTx", {**self.FORM, "params": params}))

        assert drafted.transaction.call_data.hex() == f"0a0300{BOB_HEX[2:]}07341cdcdf02"

    def test_a_pill_inside_of_arguments_kept_by_call_is_filled_in(self, app: Application) -> None:
        key = "{assetHub}_{balances}_{transfer_keep_alive}"
        form = {**self.FORM, "params": {key: {"dest": {"Id": PILL}, "value": "12345678900"}}}
        data = Data(("w",))
        data.add(webhook.DATA, {"address": BOB}, node="w")

        drafted = draft(app, ("chainTx", chain_tx.STEP.fill(form, data)))

        assert drafted.transaction.call_data.hex() == f"0a0300{BOB_HEX[2:]}07341cdcdf02"


class TestScenario:
    def test_the_first_step_that_drafts_is_described(self, app: Application) -> None:
        nodes = [("webhook", None), ("chainTx", TestChainTx.FORM), ("action", transfer_form())]

        assert draft(app, *nodes, edges="ac cb").txtype == "xTransfer"
        assert draft(app, *nodes, edges="ab bc").txtype == "ChainTx"

    @pytest.mark.parametrize(
        "nodes",
        [
            [],
            [SOURCE, TARGET],
            [("action", {})],
            [("action", {"action": "stake"})],
            [("group", {})],
        ],
    )
    def test_a_scenario_that_drafts_nothing_says_so(
        self, app: Application, nodes: list[Any]
    ) -> None:
        assert refusal(app, *nodes) == says("scenario", "transaction")

    def test_every_problem_is_listed_with_its_node_and_code(self, app: Application) -> None:
        nodes = [
            ("action", transfer_form(source_chain="moon")),
            ("action", TestSwap().form()),
            ("action", {"action": "stake"}),
            ("chain", {"chain": "polkadot", "asset": 7}),
        ]

        found = finish(find_problems(app, diagram(*nodes, edges="ax")))

        assert [(p.node, p.code, p.sentence.split(",")[0]) for p in found] == [
            ("", "invalid_request", says("a", "x")),
            ("a", "invalid_request", says("source.chain", "moon")),
            ("b", "chain_unreachable", says("received", "Hydration")),
            ("c", "invalid_request", "unknown action 'stake'"),
            ("d", "invalid_request", "asset is 7"),
        ]


class TestCreated:
    def test_a_created_native_transfer_of_an_asset_hub_is_written_as_the_editor_does(
        self, app: Application
    ) -> None:
        document = draw_single(
            app,
            "xTransfer",
            source_chain="assetHub",
            dest_chain="polkadot",
            destination_address=BOB,
            amount="2",
            assetid="native",
            builder=canvas(),
        )

        assert document["nodes"][1]["formData"]["actionData"]["source"]["assetId"] == 1000
        assert finish(draft_first(app, read_diagram(document))).asset == "0"


FORMS = st.dictionaries(
    st.sampled_from(
        [
            "chain",
            "asset",
            "address",
            "amount",
            "action",
            "actionData",
            "selectedChain",
            "selectedPallet",
            "selectedMethod",
            "params",
            "methodInput",
            "blockHash",
            "url",
            "method",
            "headers",
            "requestContent",
            "contentType",
            "uuid",
            "seconds",
        ]
    ),
    documents
    | st.sampled_from(
        ["polkadot", "hydraDx", "xTransfer", "swap", "Remark", "5", "{{ a }}", PILL, BOB, 0, "1.5"]
    )
    | st.fixed_dictionaries(
        {},
        optional={
            "source": st.dictionaries(
                st.sampled_from(["chain", "assetId", "amount", "symbol", "target", "address"]),
                documents,
            ),
            "target": documents,
            "name": documents,
        },
    ),
    max_size=6,
)
DIAGRAMS = st.lists(
    st.tuples(
        st.sampled_from([*dict.fromkeys(step.box.type for step in all_steps()), "other"]),
        st.none() | FORMS,
    ),
    max_size=5,
).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes), st.lists(st.sampled_from(["ab", "bc", "ca", "cd", "ax", "de"]), max_size=4)
    )
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=examples(300),
    deadline=None,
)
@given(DIAGRAMS)
def test_no_form_is_so_strange_that_it_cannot_be_told(
    app: Application, strange: tuple[list[tuple[str, Any]], list[str]]
) -> None:
    nodes, edges = strange
    found = diagram(*nodes, edges=" ".join(edges))

    assert "\n" not in summarise(found)
    assert all(isinstance(name, str) for name in chains_of(found))
    assert all(tell_step(app, found, node).sentence for node in found.nodes)
    listed = finish(find_problems(app, found))
    try:
        finish(draft_first(app, found))
    except ScenarioctlError as error:
        sentences = {problem.sentence for problem in listed}
        assert (
            str(error).startswith(("this scenario has no step", "the edge", "node "))
            or str(error) in sentences
            # A draft waits for any placeholder; the list also knows which of them no step can give.
            or (
                isinstance(error, WaitsForData)
                and any(
                    each.startswith(f"{str(error).partition(' waits for ')[0]} needs ")
                    and each.endswith(", which no earlier step provides")
                    for each in sentences
                )
            )
        )
