"""The node `chainQuery`: reads a storage entry, a constant or a runtime call."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from scenarioctl.actions.placeholders import (
    Data,
    Filled,
    StepData,
    fill_argument,
    find_placeholders,
    has_placeholder,
    is_json_text,
)
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import Look, Row, Story, name_chain, one_line, shorten_middle
from scenarioctl.actions.vocabulary import (
    CHAIN,
    FILLED,
    Kind,
    Part,
    Reading,
    Terms,
    parsing,
    parts_of,
)
from scenarioctl.errors import ChainUnreachable, InvalidRequest, ScenarioctlError, fold, name_of
from scenarioctl.formats.diagram_builder import DiagramBuilder, EditorBox
from scenarioctl.model.amounts import read_digits, read_number
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.runtime_query import QueryAnswer, QueryItem, RuntimeQuery


#: What of an answer is shown in whole tokens.  Pallet and item, as `fold` writes them, of the
#: native asset -> how many keys they have.
_NATIVE = {
    ("system", "account"): 1,
    ("balances", "account"): 1,
    ("balances", "totalissuance"): 0,
    ("balances", "inactiveissuance"): 0,
    ("balances", "existentialdeposit"): 0,
}
#: The same -> how many keys they have, and which of them is the asset.
_BY_ID = {
    ("assets", "account"): (2, 0),
    ("assets", "asset"): (1, 0),
    ("tokens", "accounts"): (2, 1),
    ("tokens", "totalissuance"): (1, 0),
}
#: Fields that hold amounts; others, like a nonce, don't.
_AMOUNTS = ("free", "reserved", "frozen", "balance", "supply")


def whole_tokens(app: "Application", query: "Query", text: str) -> str:
    """Return the amounts in the answer *text* as people read them: `free 1.5 DOT, reserved 0 DOT`;
    empty if none is known."""
    asset = _asset_of(app, query)
    if asset is None or asset.decimals is None:
        return ""
    if (raw := read_digits(text)) is not None:
        return asset.amount(raw)
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return ", ".join(f"{name} {asset.amount(raw)}" for name, raw in _amounts_in(answer))


def _asset_of(app: "Application", query: "Query") -> "Asset | None":
    item = (fold(query.pallet_name), fold(query.method_name))
    if _NATIVE.get(item) == len(query.params):
        return app.assets.native(query.chain)
    count, place = _BY_ID.get(item, (-1, 0))
    if count != len(query.params):
        return None
    number = read_digits(str(query.params[place]).replace(",", ""))
    return None if number is None else app.assets.listed(query.chain, number)


def _amounts_in(answer: Any) -> Iterator[tuple[str, int]]:
    if not isinstance(answer, dict):
        return
    held = answer.get("data", answer)
    for name in _AMOUNTS:
        raw = read_digits(held.get(name)) if isinstance(held, dict) else None
        if raw is not None:
            yield name, raw


@dataclass(frozen=True, kw_only=True)
class Query:
    """One question to a chain."""

    chain: "Chain"
    pallet_name: str
    method_name: str
    params: tuple[Any, ...] = ()
    #: 0x hash or number of a block; empty: the newest block.
    block: str = ""


BOX = EditorBox(type="chainQuery", label="Query Chain", image="./chainQuery.svg")
DATA = StepData(
    name="query", title="a query's answer", label="result", editor_paths={("eventData",): ()}
)
#: Characters of an answer in a line of the log; the mempool has it whole.
_SHOWN = 200


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    params, block = node.form.get("methodInput"), one_line(node.form.get("blockHash"), 80)
    said = one_line(params, 80)
    if isinstance(params, list):
        params = ", ".join(one_line(entry) for entry in params[:2])
    shown = (("With", one_line(params, 300)), ("At", block))
    facts = tuple(Row(label=label, text=shorten_middle(text)) for label, text in shown if text)
    return tell_item(app, node, kind="Query", noun="query", given=said, facts=facts)


def tell_item(
    app: "Application", node: Node, *, kind: str, noun: str, given: str, facts: tuple[Row, ...]
) -> Story:
    """Return the story of a query or a call, with the arguments that are *given* to it."""
    chain = name_chain(app, one_line(node.form.get("selectedChain")))
    pallet, method = one_line(node.form.get("selectedPallet")), one_line(method_name(node.form))
    item = f"{pallet or '?'}.{method or '?'}"
    return Story(
        kind=kind,
        sentence=f"{item}({given}) on {chain.title}" if chain.title else f"no {noun} chosen yet",
        what=item if pallet or method else "",
        chains=(chain,) if chain.title else (),
        facts=facts,
    )


def check(app: "Application", diagram: Diagram, node: Node) -> None:
    query = read_query(app, diagram, node)
    table = app.known_runtime(query.chain)
    if table is not None:
        resolve_query(table, query, pallet_field="selectedPallet", method_field="selectedMethod")


async def run(running: "Run", diagram: Diagram, node: Node) -> None:
    form = node.form
    chain, pallet = one_line(form.get("selectedChain")), one_line(form.get("selectedPallet"))
    method = one_line(method_name(form))
    if chain and pallet and method:
        running.say(f"Querying {pallet}.{method} on {name_chain(running.app, chain).title}")
    query = read_query(running.app, diagram, node)
    text = (await ask(running.app, query)).text
    human = whole_tokens(running.app, query, text)
    running.add_entry(STEP.tx_type, node.id, chain=query.chain.name, tx=text, human=human)
    running.data.add(DATA, read_answer(text), node=node.id)
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    running.say(f"Query of {query.chain.title} answered: {shown}")


def read_answer(text: str) -> Any:
    """Return an answer as JSON: a list or an object parsed, anything else as text."""
    if text[:1] not in ("{", "["):
        return text
    from scenarioctl.formats.documents import parse_json

    try:
        return parse_json(text, field="query")
    except ScenarioctlError:
        return text


async def ask(app: "Application", query: Query, *, limit: int | None = None) -> "QueryAnswer":
    """Return what the chain answers, at most *limit* entries of a map.

    A constant is answered offline too, from the cached or bundled runtime table.
    """
    from scenarioctl.transactions.runtime_items import write_constant
    from scenarioctl.transactions.runtime_query import (
        DEFAULT_LIMIT,
        Constant,
        QueryAnswer,
        run_query,
    )

    try:
        client = app.client(query.chain)
        block = await client.find_block(query.block) if query.block else ""
        table = await client.table_at(block) if block else await client.table()
    except ChainUnreachable:
        item = resolve_offline(app, query)
        known = app.known_runtime(query.chain)
        if (
            known is None
            or not app.settings.offline
            or not isinstance(item, Constant)
            or query.block
        ):
            raise
        note = (
            f"this is the constant of {known}; no node was asked whether {query.chain.title} "
            "runs it"
        )
        return QueryAnswer(
            text=write_constant(known, query.chain, item.pallet, item.name), warnings=(note,)
        )
    return await run_query(
        client, table, resolve_query(table, query), block=block, limit=limit or DEFAULT_LIMIT
    )


def resolve_offline(app: "Application", query: Query) -> "QueryItem | None":
    """Return the item of *query* in the known runtime table, None without one: input is checked
    before the connection."""
    known = app.known_runtime(query.chain)
    return None if known is None else resolve_query(known, query).item


def resolve_query(
    table: "RuntimeTable",
    query: Query,
    *,
    pallet_field: str = "pallet_name",
    method_field: str = "method_name",
) -> "RuntimeQuery":
    """Return the item and parameters of *query* in *table*; InvalidRequest names the part that it
    lacks."""
    from scenarioctl.transactions.runtime_query import find_query_item, parse_query

    item = find_query_item(
        table,
        query.pallet_name,
        query.method_name,
        pallet_field=pallet_field,
        method_field=method_field,
    )
    return parse_query(table, item, query.params)


def read_query(app: "Application", diagram: Diagram, node: Node) -> Query:
    """Return the query of *node*; InvalidRequest names the missing field, WaitsForData the one with
    a placeholder."""
    return Query(**STEP.read(app, diagram, node))


def read_form(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of *form* that are read; the editor also keeps the pallet's whole
    description in it."""
    read = {
        key: form.get(key)
        for key in ("selectedChain", "selectedPallet", "blockHash", "methodInput")
    }
    return read | {"selectedMethod": {"name": method_name(form)}}


def _fill(params: Any, data: Data, _form: object) -> Any:
    filled = fill_argument(params, data)
    # Data from outside is one parameter, even if it looks like a list.
    return [filled] if isinstance(filled, Filled) and not is_json_text(params) else filled


def _params(reading: Reading, value: Any, name: str, _of: object) -> tuple[Any, ...]:
    if reading.way == "form":
        return parse_params(value)
    if value is not None and not isinstance(value, (list, tuple)):
        raise InvalidRequest(field=name, problem=f"is {name_of(value)}", expected="a list")
    return tuple(value or ())


def _spell(step: Reading) -> None:
    """Let a scenario have pallet and method as the runtime spells them; as typed if no runtime
    table is known.

    No node is asked: a scenario can be created without a network.
    """
    from scenarioctl.runtime.type_table import ApiMethod
    from scenarioctl.transactions.runtime_query import find_query_item, parse_query

    if step.way == "form" or step.unread:
        return
    pallet, method, params = step["pallet_name"], step["method_name"], step["params"]
    table = step.app.known_runtime(step["chain"])
    if table is None or has_placeholder(pallet) or has_placeholder(method):
        return
    with step.checking():
        item = find_query_item(
            table,
            pallet,
            method,
            pallet_field=step.name("pallet_name"),
            method_field=step.name("method_name"),
        )
        if not find_placeholders(list(params)):
            parse_query(table, item, params)
        step.put("pallet_name", item.api if isinstance(item, ApiMethod) else item.pallet)
        step.put("method_name", item.name)


def method_name(form: Mapping[str, Any]) -> Any:
    """Return the method's name, for which the editor keeps a whole description."""
    method = form.get("selectedMethod")
    return method.get("name") if isinstance(method, dict) else method


def write_params(params: "list[Any] | tuple[Any, ...]") -> str:
    """Return *params* as text: a single text as it is, else a JSON list; empty for none."""
    if not params:
        return ""
    if (
        len(params) == 1
        and isinstance(params[0], str)
        and params[0]
        and not params[0].lstrip().startswith("[")
    ):
        return params[0]
    return json.dumps(list(params), ensure_ascii=False)


def parse_params(value: object) -> tuple[Any, ...]:
    """Return the parameters in *value*; the inverse of `write_params`."""
    if value is None or value == "":
        return ()
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, str):
        return (value,)
    text = value.strip("\u200b\ufeff \t\r\n")
    if not text.startswith("["):
        return (text,) if text else ()
    from scenarioctl.formats.documents import parse_json

    try:
        params = parse_json(text, field="methodInput")
    except ScenarioctlError as error:
        raise InvalidRequest(f"{error}: expected one parameter, or a JSON list of them") from None
    return tuple(params)


def parse_block(value: object, *, field: str) -> str:
    """Return the hash of a block in lower case, or its number as digits; empty for the newest."""
    if value is None or value == "":
        return ""
    if isinstance(value, str) and re.fullmatch("0x[0-9A-Fa-f]{64}", value):
        return value.lower()
    return str(
        read_number(
            value,
            field=field,
            kind="a block",
            expected="its hash (0x and 64 hex digits) or its number",
            most=2**32 - 1,
        )
    )


PALLET_PART = Part("PALLET", kind=FILLED, at="selectedPallet", expected="the name of a pallet")


@dataclass(frozen=True, kw_only=True)
class QueryStep:
    #: Chain to read.
    chain: Annotated[str, Part("CHAIN", kind=CHAIN, at="selectedChain")]
    pallet_name: Annotated[str, PALLET_PART]
    method_name: Annotated[
        str,
        Part(
            "METHOD",
            kind=FILLED,
            at="selectedMethod.name",
            called=("selectedMethod",),
            expected="the name of a storage entry, constant or call",
        ),
    ]
    params: Annotated[
        tuple[Any, ...],
        Part(
            "PARAM",
            kind=Kind(
                read=_params,
                write=lambda params, _: write_params(params),
                back=lambda _app, params, _form: list(parse_params(params)),
                fill=_fill,
            ),
            at="methodInput",
        ),
    ] = ()
    #: Hash of the block to read at. Default: the newest block.
    block: Annotated[
        str,
        Part(
            "0xHASH",
            kind=parsing(parse_block, open=True),
            at="blockHash",
        ),
    ] = ""


def draw(builder: DiagramBuilder, step: Reading, start: str) -> tuple[str, str]:
    node = builder.add(BOX, {"methodInput": "", "blockHash": "", **step.form()})
    return node, node


STEP = StepKind(
    name="chainQuery",
    box=BOX,
    look=Look(name="query", color="teal", icon="M10.5 4.5a6 6 0 1 0 0 12a6 6 0 1 0 0-12M15 15l5 5"),
    route="query",
    tell=tell,
    terms=Terms(parts_of(QueryStep), _spell),
    draw=draw,
    formless="the query has no form, expected a chain, a pallet and a method",
    tx_type="ChainQuery",
    check=check,
    run=run,
    data=DATA,
    read_form=read_form,
)
