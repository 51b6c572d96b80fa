"""The node `chainTx`: any call of a chain, its arguments typed in as text."""

# Every module of this package answers the same questions, whether it needs all that it is told or not.

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.chain_query import method_name
from scenarioctl.actions.drafting import Drafted, draft_call
from scenarioctl.actions.fields import Fields
from scenarioctl.actions.pills import Data, fill_argument, settled
from scenarioctl.actions.pills import fill as fill_any
from scenarioctl.actions.sides import outline_chain
from scenarioctl.actions.words import chain_word, word
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.diagram import Diagram, Node, name_of

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.formats.shapes import Canvas

#: As the mempool calls it.
TX_TYPE = "ChainTx"


def summary(node: Node, registry: "Registry") -> str:
    chain = chain_word(node.form.get("selectedChain"), registry)
    return f"tx({chain})" if chain else "tx"


def describe(node: Node, diagram: Diagram) -> str:
    chain = word(node.form.get("selectedChain"))
    if not chain:
        return "a call that is not chosen yet"
    params = node.form.get("params")
    names = ", ".join(word(name) for name in list(params)[:8]) if isinstance(params, dict) else ""
    pallet, method = word(node.form.get("selectedPallet")), word(method_name(node.form))
    return f"{pallet or '?'}.{method or '?'}({names}) on {chain}"


def outline(app: "Application", diagram: Diagram, node: Node) -> tuple[str, str]:
    return outline_chain(app, node.form.get("selectedChain"))


async def draft(app: "Application", diagram: Diagram, node: Node) -> Drafted:
    form = node.form
    if not form:
        raise InvalidRequest("the call has no form, expected a chain, a pallet, a method and its params")
    name = _required(form.get("selectedChain"), "selectedChain", "the name of a chain")
    chain = app.registry.find(name, field="selectedChain")
    pallet = _required(form.get("selectedPallet"), "selectedPallet", "the name of a pallet")
    method = _required(method_name(form), "selectedMethod.name", "the name of a call")
    params = _params(settled(form.get("params"), field="params"))
    transaction = await draft_call(app, chain=chain, pallet=pallet, method=method, params=params)
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        summary=f"{chain.name} > ChainTx > {chain.name}",
        asset="",
        amount="0",
        raw_amount=0,
        source_chain=chain.name,
        dest_chain=chain.name,
        transaction=transaction,
    )


def fill(form: Mapping[str, Any], data: Data) -> Mapping[str, Any]:
    """Return what is read of *form*, its pills replaced; the editor keeps a pallet's whole description beside it."""
    filled = {key: fill_any(form.get(key), data) for key in ("selectedChain", "selectedPallet")}
    return filled | {
        "selectedMethod": fill_any(method_name(form), data),
        "params": fill_argument(form.get("params"), data),
    }


def draw(
    canvas: "Canvas", app: "Application", values: Mapping[str, Any], *, place: str, start: str
) -> tuple[str, str]:
    fields = Fields(values, place)
    params = fields.get("params", {})
    if not isinstance(params, dict):
        raise InvalidRequest(
            f"{fields.name('params')} is {name_of(params)}, expected a table of name and value"
        )
    node = canvas.add(
        "chainTx",
        {
            "selectedChain": fields.chain(app, "chain").name,
            "selectedPallet": fields.filled("pallet_name"),
            "selectedMethod": {
                "name": fields.filled("method_name"),
                "fields": [{"name": name} for name in params],
            },
            "params": _params(params),
            "selectedAddress": None,
        },
    )
    return node, node


def _params(value: object) -> dict[str, str]:
    """Return the arguments as text, the way the editor keeps them; other JSON becomes its text."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidRequest(f"params is {name_of(value)}, expected an object of name and text")
    return {
        name: text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        for name, text in value.items()
    }


def _required(value: object, field: str, expected: str) -> str:
    settled(value, field=field)
    if value is None or value == "":
        raise InvalidRequest(f"{field} is missing, expected {expected}")
    if not isinstance(value, str):
        raise InvalidRequest(f"{field} {shorten(value)} is not text, expected {expected}")
    return value
