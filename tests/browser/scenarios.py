"""The scenarios that the tests of the page store, and requests to a daemon."""

import json
import urllib.error
import urllib.request
from typing import Any

from tests.browser.page import PATIENCE, Daemon
from tests.conftest import BOB

UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
#: What would run, were it ever taken for markup or for code.
ATTACK = (
    '<img src=x onerror="window.hit=1">"\'><script>window.hit=1</script>'
    "${constructor}javascript:window.hit=1"
)


def post(daemon: Daemon, path: str, fields: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        daemon.url + path, json.dumps(fields).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from None


def a_remark(daemon: Daemon, text: str = "hello") -> str:
    return str(post(daemon, "/api/create/remark", {"chain": "polkadot", "text": text})["result"])


def a_transfer(daemon: Daemon) -> str:
    fields = {
        "source_chain": "polkadot",
        "dest_chain": "assetHub",
        "destination_address": BOB,
        "amount": 1.5,
        "assetid": 0,
    }
    return str(post(daemon, "/api/create/scenario", fields)["result"])


def a_flow(daemon: Daemon, flow: dict[str, Any]) -> str:
    return str(post(daemon, "/api/create/flow", {"flow": flow})["result"])


def imported(daemon: Daemon, diagram: dict[str, Any]) -> str:
    return str(post(daemon, "/api/template/saveUrl", {"url": json.dumps(diagram)})["shortUrl"])


def diagram_of(text: str) -> dict[str, Any]:
    """Return a diagram that holds *text* in every place where an editor puts what a person
    wrote."""
    return {
        "nodes": [
            {"id": f"chain {text}", "type": "chain", "formData": {"chain": text, "asset": {
                "name": text, "symbol": text}, "address": text, "amount": text}},
            {"id": "remark", "type": "action", "formData": {"action": "Remark", "actionData": {
                "source": {"chain": "polkadot", "target": text}}}},
            {"id": "hook", "type": "webhook", "formData": {"webhookName": text,
                "uuid": "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"}},
            {"id": "web", "type": "http", "formData": {"url": f"https://example.org/{text}",
                "method": text}},
            {"id": "odd", "type": text, "formData": {"label": text}},
        ],
        "edges": [
            {"id": "a", "source": "remark", "target": "hook", "label": text},
            {"id": "b", "source": "hook", "target": "web"},
        ],
    }  # fmt: skip
