"""What a card of a picture says: one node of a diagram, in a few words.

To give a new node type a face, add a function and a row to `_FACES`, or to `_ACTIONS` for a choice in the action box;
`svg.py` has the icon and the colour of each kind.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.actions.pills import has_pill
from scenarioctl.actions.sides import action_data
from scenarioctl.actions.swap import least_words
from scenarioctl.actions.words import AssetWords, chain_word, name_asset, side_words, word
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, Node, Problem
from scenarioctl.render.letters import clean

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: Left of an address at each end.
_HEAD, _TAIL = 6, 6
#: Of an asset's id at each end, where it is a location.
_ID_END = 6
#: Names of a call's arguments that are shown.
_SHOWN = 2


class Row(NamedTuple):
    """One line of a card: a value, and what it is."""

    text: str
    label: str = ""
    #: The amount, or whatever else is read first.
    strong: bool = False


class Card(NamedTuple):
    """One node as it is drawn."""

    #: The node's id; of what an edge leads to in vain, the id that no node has.
    id: str
    #: What it looks like: a key of `svg.py: KINDS`.
    kind: str
    title: str
    #: The node's type, and the chain it works on.
    caption: str = ""
    rows: tuple[Row, ...] = ()
    #: What is wrong, or what it waits for.
    note: str = ""
    #: `ok`, `waiting` for a webhook's data, `problem`; `missing` is no node at all.
    state: str = "ok"
    #: The literal of the chain that gives it its colour; empty for none.
    chain: str = ""

    @property
    def unfinished(self) -> bool:
        return self.state in ("problem", "missing")

    def texts(self) -> tuple[str, ...]:
        """Return all that it says."""
        rows = (text for row in self.rows for text in (row.label, row.text))
        return (self.title, self.caption, *rows, self.note)


class _Place(NamedTuple):
    """A node where it stands."""

    app: "Application"
    diagram: Diagram
    node: Node


def read_card(app: "Application", diagram: Diagram, node: Node, problems: tuple[Problem, ...] = ()) -> Card:
    """Return the card of *node*; *problems* are those of this node."""
    place = _Place(app=app, diagram=diagram, node=node)
    if node.type == "action":
        choice = node.form.get("action")
        face = _ACTIONS.get(choice.lower(), _unknown_action) if isinstance(choice, str) else _unknown_action
    else:
        face = _FACES.get(node.type, _unknown)
    card = face(place)._replace(id=clean(node.id[:256]))
    # What no node was asked for now, a quote, is no fault of the diagram.
    serious = [problem for problem in problems if problem.code != "chain_unreachable"]
    if not serious:
        return card
    shown = next((problem for problem in serious if not problem.waiting), serious[0])
    return card._replace(note=clean(shown.sentence[:300]), state="waiting" if shown.waiting else "problem")


def missing_card(identifier: str) -> Card:
    """Return the card of a node that is not there, but that an edge leads to."""
    return Card(
        id=clean(identifier[:256]),
        kind="missing",
        title="No such node",
        caption=word(identifier),
        state="missing",
    )


def flow_label(app: "Application", diagram: Diagram, source: Node, target: Node) -> str:
    """Return what flows from *source* to *target*, empty where that is nothing in particular."""
    choice = target.form.get("action") if target.type == "action" else None
    if isinstance(choice, str) and choice.lower() in ("xtransfer", "swap"):
        if source.type != "chain":
            return _FLOWS.get(source.type, "")
        before, _ = side_words(app, diagram, target)
        return _tokens(before["amount"], before["short"])
    choice = source.form.get("action") if source.type == "action" else None
    if isinstance(choice, str):
        _, after = side_words(app, diagram, source)
        if choice.lower() == "swap":
            least = least_words(app, diagram, source)
            return least or _known(after["short"])
        return _known(after["short"]) if choice.lower() == "xtransfer" else ""
    return _FLOWS.get(source.type, "")


#: What goes on from a step that fetches something.
_FLOWS = {"webhook": "event", "http": "response", "chainQuery": "result"}


def _chain(place: _Place) -> Card:
    literal, title = _chain_title(place, place.node.form.get("chain"))
    rows = []
    asset = place.node.form.get("asset")
    named = AssetWords("")
    if isinstance(asset, dict):
        form = place.node.form
        named = name_asset(place.app, form.get("chain"), asset.get("assetId"), asset.get("symbol"))
    amount = word(place.node.form.get("amount"))
    if named.short or amount:
        rows += [Row(text=f"{amount} {named.short}".strip(), strong=True), *_marks(named.id, named.mark)]
    address = word(place.node.form.get("address"), 300)
    if address:
        rows.append(Row(label="Account", text=shorten_middle(address)))
    return Card(
        id="",
        kind="chain",
        title=title or "Chain",
        caption=literal if literal and literal != title else "chain",
        rows=tuple(rows),
        chain=literal,
    )


def _transfer(place: _Place) -> Card:
    source, target = side_words(place.app, place.diagram, place.node)
    origin, origin_title = _chain_title(place, source["chain"])
    _, destination = _chain_title(place, target["chain"])
    rows = (
        Row(text=_tokens(source["amount"], source["short"]) or "?", strong=True),
        *_marks(source["id"], source["mark"]),
        Row(label="From", text=origin_title or "?"),
        Row(label="To", text=destination or "?"),
        Row(label="For", text=shorten_middle(target["address"])),
    )
    return Card(id="", kind="transfer", title="Transfer", caption="xTransfer", rows=rows, chain=origin)


def _swap(place: _Place) -> Card:
    source, target = side_words(place.app, place.diagram, place.node)
    literal, title = _chain_title(place, source["chain"])
    rows = [
        Row(text=f"{_tokens(source['amount'], source['short']) or '?'} → {target['short']}", strong=True),
        *_marks(source["id"], source["mark"]),
        *_marks(target["id"], target["mark"]),
        Row(label="On", text=title or "?"),
    ]
    options = action_data(place.node)
    slippage = word(options.get("slippage")) or "1"
    least = least_words(place.app, place.diagram, place.node)
    rows.append(Row(label="At least", text=least or f"the quote less {slippage} %"))
    return Card(id="", kind="swap", title="Swap", caption="swap", rows=tuple(rows), chain=literal)


def _remark(place: _Place) -> Card:
    source, _ = side_words(place.app, place.diagram, place.node)
    literal, title = _chain_title(place, source["chain"])
    values = action_data(place.node).get("source")
    text = word(values.get("target"), 200) if isinstance(values, dict) else ""
    rows = [Row(text=text, strong=True)] if text else []
    rows.append(Row(label="On", text=title or "?"))
    return Card(id="", kind="remark", title="Remark", caption="Remark", rows=tuple(rows), chain=literal)


def _query(place: _Place) -> Card:
    literal, rows = _item(place)
    params = place.node.form.get("methodInput")
    if isinstance(params, list):
        params = ", ".join(word(entry) for entry in params[:_SHOWN])
    shown = word(params, 300)
    if shown:
        rows.append(Row(label="With", text=shorten_middle(shown)))
    block = word(place.node.form.get("blockHash"), 80)
    if block:
        rows.append(Row(label="At", text=shorten_middle(block)))
    return Card(id="", kind="query", title="Query", caption="chainQuery", rows=tuple(rows), chain=literal)


def _call(place: _Place) -> Card:
    from scenarioctl.actions.chain_tx import own_params

    literal, rows = _item(place)
    params = own_params(place.node.form)
    if isinstance(params, dict):
        shown = list(params.items())[:_SHOWN]
        rows += [
            Row(label=word(name, 24), text=shorten_middle(word(value, 300) or "…")) for name, value in shown
        ]
        if len(params) > len(shown):
            rows.append(Row(label="", text=f"and {len(params) - len(shown)} more"))
    return Card(id="", kind="call", title="Transaction", caption="chainTx", rows=tuple(rows), chain=literal)


def _item(place: _Place) -> tuple[str, list[Row]]:
    """Return the chain of a query or a call, and the rows that say what is asked of it."""
    from scenarioctl.actions.chain_query import method_name

    literal, title = _chain_title(place, place.node.form.get("selectedChain"))
    pallet, method = word(place.node.form.get("selectedPallet")), word(method_name(place.node.form))
    rows = []
    if pallet or method:
        rows.append(Row(text=f"{pallet or '?'}.{method or '?'}", strong=True))
    if title:
        rows.append(Row(label="On", text=title))
    return literal, rows


def _http(place: _Place) -> Card:
    url = word(place.node.form.get("url"), 300)
    # Not its path, nor its query: many an address holds a key there, and pictures are shown around.
    rows = [Row(text=_host(url), strong=True)] if url else []
    method = (word(place.node.form.get("method"), 12) or "get").upper()
    return Card(
        id="", kind="http", title=f"{method} request" if url else "Request", caption="http", rows=tuple(rows)
    )


def _webhook(place: _Place) -> Card:
    name, uuid = word(place.node.form.get("webhookName")), word(place.node.form.get("uuid"))
    rows = []
    if name:
        rows.append(Row(text=name, strong=True))
    if uuid:
        rows.append(Row(label="Inbox", text=uuid if len(uuid) < 13 else f"{uuid[:8]}…{uuid[-4:]}"))
    return Card(id="", kind="webhook", title="Webhook", caption="waits for an event", rows=tuple(rows))


def _delay(place: _Place) -> Card:
    seconds = place.node.form.get("seconds")
    text = _duration(seconds) or word(seconds)
    rows = (Row(text=text, strong=True),) if text else ()
    return Card(id="", kind="delay", title="Delay", caption="delay", rows=rows)


def _unknown(place: _Place) -> Card:
    kind = word(place.node.type) or "no type"
    return Card(
        id="", kind="unknown", title="Unknown step", caption=kind, note="skipped in a run", state="problem"
    )


def _unknown_action(place: _Place) -> Card:
    choice = word(place.node.form.get("action"))
    return Card(id="", kind="unknown", title="Action", caption=choice or "not chosen yet", state="problem")


_FACES: Mapping[str, Callable[[_Place], Card]] = {
    "chain": _chain,
    "chainQuery": _query,
    "chainTx": _call,
    "http": _http,
    "webhook": _webhook,
    "delay": _delay,
}
_ACTIONS: Mapping[str, Callable[[_Place], Card]] = {
    "xtransfer": _transfer,
    "swap": _swap,
    "remark": _remark,
}


def shorten_middle(text: str) -> str:
    """Return an address, a hash or a hex with its middle left out; any other text as it is."""
    if len(text) < 24 or " " in text or not text.isascii() or not text.isalnum() or has_pill(text):
        return text
    return f"{text[:_HEAD]}…{text[-_TAIL:]}"


def _chain_title(place: _Place, name: Any) -> tuple[str, str]:
    """Return the literal and the title of a chain; what is typed for one that nobody knows."""
    if name in (None, "", "?"):
        return "", ""
    try:
        chain = place.app.registry.find(name)
    except InvalidRequest:
        typed = chain_word(name, place.app.registry)
        return typed, typed
    return chain.name, chain.title


def _known(text: str) -> str:
    return "" if text == "?" else text


def _marks(identity: str, mark: str) -> list[Row]:
    """Return the rows that tell a look-alike apart: of their own, since a long amount is cut off."""
    if not mark:
        return []
    shown = identity if len(identity) <= 2 * _ID_END else f"{identity[:_ID_END]}…{identity[-_ID_END:]}"
    return [Row(label="Asset", text=shown), Row(text=mark)]


def _tokens(amount: str, symbol: str) -> str:
    return f"{_known(amount)} {_known(symbol)}".strip()


def _host(url: str) -> str:
    """Return the host of an address for show, without a user and a password in front of it."""
    _, found, rest = url.partition("://")
    rest = rest if found else url
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    return rest[:end].rpartition("@")[2] or "?"


def _duration(seconds: Any) -> str:
    if isinstance(seconds, str) and seconds.isascii() and seconds.isdigit() and len(seconds) < 6:
        seconds = int(seconds)
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds <= 86_400:
        return f"{word(seconds)} s" if isinstance(seconds, (int, float)) else ""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
