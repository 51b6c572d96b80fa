"""The node `chainQuery`: a storage entry, a constant or a runtime call is read."""

# Every module of this package answers the same questions, whether it needs all that it is told or not.

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.fields import Fields
from scenarioctl.actions.pills import has_pill, settled
from scenarioctl.actions.words import chain_word, word
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.diagram import Diagram, Node, name_of

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.formats.shapes import Canvas


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a chain is asked."""

    chain: "Chain"
    pallet_name: str
    method_name: str
    params: tuple[Any, ...]
    #: 0x hash; empty is the newest block.
    block: str


def summary(node: Node, registry: "Registry") -> str:
    chain = chain_word(node.form.get("selectedChain"), registry)
    return f"query({chain})" if chain else "query"


def describe(node: Node, diagram: Diagram) -> str:
    chain = word(node.form.get("selectedChain"))
    if not chain:
        return "a query that is not chosen yet"
    pallet, method = word(node.form.get("selectedPallet")), word(method_name(node.form))
    params = word(node.form.get("methodInput"), 80)
    return f"{pallet or '?'}.{method or '?'}({params}) on {chain}"


async def check(app: "Application", diagram: Diagram, node: Node) -> None:
    read_query(app, node)


def read_query(app: "Application", node: Node) -> Query:
    """Return what *node* asks; InvalidRequest names the field that is missing, WaitsForWebhook the one with a pill."""
    form = node.form
    if not form:
        raise InvalidRequest("the query has no form, expected a chain, a pallet and a method")
    chain = app.registry.find(_required(form, "selectedChain", "the name of a chain"), field="selectedChain")
    pallet = _text(_required(form, "selectedPallet", "the name of a pallet"), "selectedPallet")
    method = settled(method_name(form), field="selectedMethod.name")
    if method is None or method == "":
        raise InvalidRequest(
            "selectedMethod is missing, expected the name of a storage entry, constant or call"
        )
    return Query(
        chain=chain,
        pallet_name=pallet,
        method_name=_text(method, "selectedMethod.name"),
        params=read_params(settled(form.get("methodInput"), field="methodInput")),
        block=parse_block(settled(form.get("blockHash"), field="blockHash"), field="blockHash"),
    )


def draw(
    canvas: "Canvas", app: "Application", values: Mapping[str, Any], *, place: str, start: str
) -> tuple[str, str]:
    fields = Fields(values, place)
    params = fields.get("params", ())
    if not isinstance(params, (list, tuple)):
        raise InvalidRequest(f"{fields.name('params')} is {name_of(params)}, expected a list")
    block = fields.text("block")
    if not has_pill(block):
        parse_block(block, field=fields.name("block"))
    node = canvas.add(
        "chainQuery",
        {
            "selectedChain": fields.chain(app, "chain").name,
            "selectedPallet": fields.filled("pallet_name"),
            "selectedMethod": {"name": fields.filled("method_name")},
            "methodInput": write_params(params),
            "blockHash": block,
        },
    )
    return node, node


def method_name(form: Mapping[str, Any]) -> Any:
    """Return the method's name; the editor keeps a whole description of it."""
    method = form.get("selectedMethod")
    return method.get("name") if isinstance(method, dict) else method


def write_params(params: "list[Any] | tuple[Any, ...]") -> str:
    """Return *params* as the form's one text: a single text as it is, else a JSON list, nothing for none."""
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


def read_params(value: object) -> tuple[Any, ...]:
    """Return the parameters in the form's one text; the opposite of `write_params`."""
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
    """Return the hash of a block, empty for the newest."""
    if value is None or value == "":
        return ""
    if isinstance(value, str) and value[:2] == "0x" and len(value) == 66:
        digits = value[2:].lower()
        if all(digit in "0123456789abcdef" for digit in digits):
            return "0x" + digits
    raise InvalidRequest(
        f"{field} {shorten(value, 80)} is not the hash of a block, expected 0x and 64 hex digits"
    )


def _required(form: Mapping[str, Any], key: str, expected: str) -> Any:
    value = settled(form.get(key), field=key)
    if value is None or value == "":
        raise InvalidRequest(f"{key} is missing, expected {expected}")
    return value


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{field} is {name_of(value)}, expected text")
    return value
