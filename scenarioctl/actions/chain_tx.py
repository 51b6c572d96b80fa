"""The node `chainTx`: any call of a chain, with its arguments as text."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.chain_query import PALLET_PART, method_name, tell_item
from scenarioctl.actions.drafting import Drafted, draft_call
from scenarioctl.actions.placeholders import fill_argument
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import Look, Row, Story, one_line, shorten_middle
from scenarioctl.actions.vocabulary import CHAIN, FILLED, Part, Reading, Terms, parsing
from scenarioctl.errors import InvalidRequest, name_of
from scenarioctl.formats.diagram_builder import DiagramBuilder, EditorBox
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: As the mempool calls it.
TX_TYPE = "ChainTx"

#: Key under which the editor keeps the arguments of each call that was ever chosen:
#: `{polkadot}_{System}_{remark}`.
_CALL_KEY = re.compile(r"\{[^{}]*\}_\{[^{}]*\}_\{[^{}]*\}")

BOX = EditorBox(type="chainTx", label="Chain Tx", image="./chainTx.svg")
#: Arguments of a call that are shown on its card.
_SHOWN = 2


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    params = own_params(node.form)
    params = params if isinstance(params, dict) else {}
    facts = [
        Row(label=one_line(name, 24), text=shorten_middle(one_line(value, 300) or "…"))
        for name, value in list(params.items())[:_SHOWN]
    ]
    if len(params) > _SHOWN:
        facts.append(Row(text=f"and {len(params) - _SHOWN} more"))
    names = ", ".join(one_line(name) for name in list(params)[:8])
    return tell_item(app, node, kind="Transaction", noun="call", given=names, facts=tuple(facts))


async def draft(
    app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None
) -> Drafted:
    step = STEP.read(app, diagram, node)
    chain = step["chain"]
    transaction = await draft_call(
        app,
        chain=chain,
        pallet=step["pallet_name"],
        method=step["method_name"],
        params=step["params"],
    )
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        source_chain=chain.name,
        dest_chain=chain.name,
        transaction=transaction,
    )


def read_form(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of *form* that are read; the editor also keeps the pallet's whole
    description in it."""
    read = {key: form.get(key) for key in ("selectedChain", "selectedPallet")}
    return read | {"selectedMethod": {"name": method_name(form)}, "params": own_params(form)}


def draw(builder: DiagramBuilder, step: Reading, start: str) -> tuple[str, str]:
    form = {"params": {}, "selectedAddress": None, **step.form()}
    form["selectedMethod"] |= {"fields": [{"name": name} for name in form["params"]]}
    node = builder.add(BOX, form)
    return node, node


def own_params(form: Mapping[str, Any]) -> Any:
    """Return the arguments of the chosen call, as the form has them.

    An older editor keeps them by name alone; where a current one keeps some by call, those of other
    calls are left out.
    """
    params = form.get("params")
    if not isinstance(params, dict) or not any(map(_CALL_KEY.fullmatch, params)):
        return params
    call = (form.get("selectedChain"), form.get("selectedPallet"), method_name(form))
    return params.get("_".join(f"{{{name}}}" for name in call), {})


def _params(value: object, *, field: str) -> dict[str, str]:
    """Return the arguments as text, as the editor keeps them; other JSON is written as text."""
    if value is not None and not isinstance(value, dict):
        raise InvalidRequest(
            field=field, problem=f"is {name_of(value)}", expected="a table of name and value"
        )
    return {
        name: text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        for name, text in (value or {}).items()
    }


STEP = StepKind(
    name="chainTx",
    box=BOX,
    look=Look(name="call", color="blue", icon="M9 6l-5 6l5 6M15 6l5 6l-5 6"),
    route="tx",
    tell=tell,
    terms=Terms(
        {
            "chain": Part(kind=CHAIN, at="selectedChain", needed=True),
            # Parts of the call, as the encoder names them.
            "pallet_name": replace(PALLET_PART, called=("pallet",), needed=True),
            "method_name": Part(
                kind=FILLED,
                at="selectedMethod.name",
                called=("method", "selectedMethod"),
                expected="the name of a call",
                needed=True,
            ),
            "params": Part(
                kind=parsing(
                    _params,
                    write=lambda params, _: params,
                    fill=lambda params, data, _: fill_argument(params, data),
                ),
                at="params",
            ),
        }
    ),
    draw=draw,
    formless="the call has no form, expected a chain, a pallet, a method and its params",
    tx_type=TX_TYPE,
    draft=draft,
    read_form=read_form,
)
