"""One story, played three times: on this machine, over HTTP, and with `--url`.  The answers are
equal, errors included."""

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.formats.documents import read_share
from scenarioctl.operations.results import OUTCOMES
from tests.conftest import BOB, Run
from tests.serving import Serving

pytestmark = pytest.mark.processes

UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
CALL = "0x00071468656c6c6f"
TRANSFER = {
    "sourchain": "polkadot",
    "destchain": "assetHub",
    "assetid": "DOT",
    "amount": "15000000000",
    "destinationaddress": BOB,
}
TRANSFER_LINE = (
    *("--from", "polkadot", "--to", "assetHub", "--assetid", "DOT"),
    *("--amount", "15000000000", "--destinationaddress", BOB),
)
SCENARIO = {
    "source_chain": "polkadot",
    "dest_chain": "assetHub",
    "destination_address": BOB,
    "amount": "1.5",
    "assetid": "DOT",
}
SCENARIO_LINE = (
    *("create", "scenario", "--from", "polkadot", "--to", "assetHub", "--asset", "DOT"),
    *("--amount", "1.5", "--destination-address", BOB),
)
WEBHOOK = {
    "nodes": [
        {"id": "w", "type": "webhook", "formData": {"webhookName": "hook", "uuid": UUID}},
    ],
    "edges": [],
}
BOMB = base64.b64encode(zlib.compress(b" " * (17 * 1024 * 1024))).decode()


@dataclass(frozen=True, kw_only=True)
class Step:
    """One sentence of the story, in both languages; `{a}`, `{b}`, … are ids that earlier steps
    gave."""

    line: tuple[str, ...]
    method: str = "POST"
    path: str
    fields: Any = None
    #: Of the error that it ends with; empty where it goes well.
    code: str = ""
    #: What to call the id that it gives.
    gives: str = ""


@dataclass
class Told:
    """What came of the steps at one edge."""

    ids: dict[str, str] = field(default_factory=dict)
    answers: list[Any] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)


def step(
    line: str | tuple[str, ...], path: str, fields: Any = None, code: str = "", **more: str
) -> Step:
    words = tuple(line.split()) if isinstance(line, str) else line
    return Step(line=words, path=path, fields=fields, code=code, **more)


DELAY = '[[steps]]\ntype = "delay"\nseconds = 1\n'
#: A flow whose placeholder no step can fill.
WAITING = '[[steps]]\ntype = "Remark"\nchain = "polkadot"\ntext = "{{ a }}"\n'

STORY = (
    step(SCENARIO_LINE, "/api/create/scenario", SCENARIO, gives="a"),
    step(
        "create remark --chain polkadot --text hello",
        "/api/create/remark",
        {"chain": "polkadot", "text": "hello"},
        gives="b",
    ),
    step(
        "create query --chain polkadot System Number",
        "/api/create/query",
        {"chain": "polkadot", "pallet_name": "System", "method_name": "Number"},
        gives="c",
    ),
    step(
        "create swap --assetin DOT --assetout HDX --amount 2 --min-amount-out 900000000000000",
        "/api/create/swap",
        {"assetin": "DOT", "assetout": "HDX", "amount": "2", "min_amount_out": "900000000000000"},
        gives="d",
    ),
    step("scenario import webhook.json", "/api/template/saveUrl", {"url": json.dumps(WEBHOOK)},
        gives="w"),
    step("create flow flow.toml", "/api/create/flow", {"flow": "steps = 7", "syntax": "toml"},
        "invalid_request"),
    step("create flow waiting.toml", "/api/create/flow", {"flow": WAITING, "syntax": "toml"},
        "invalid_request"),
    step("create flow flow.json", "/api/create/flow", {"flow": '{"a":', "syntax": "json"},
        "bad_json"),
    step("scenario import bomb.txt", "/saveUrl", {"url": BOMB}, "too_large"),
    step("scenario import empty.txt", "/saveUrl", {"url": ""}, "invalid_request"),
    step("info {a}", "/api/scenario/info", {"id": "{a}"}),
    step("info abcdefghi", "/api/scenario/info", {"id": "abcdefghi"}, "not_found"),
    step("info no.id", "/api/scenario/info", {"id": "no.id"}, "invalid_request"),
    step("scenario full {a}", "/api/scenario/info/full", {"id": "{a}"}),
    step("scenario full {d}", "/api/scenario/info/full", {"id": "{d}"}),
    step("scenario full {c}", "/api/scenario/info/full", {"id": "{c}"}, "invalid_request"),
    step("scenario show {a}", "/api/scenario/show", {"id": "{a}"}),
    step("scenario list", "/api/scenarios", method="GET"),
    step("scenario list --chain assetHub --sort created",
        "/api/scenarios?chain=assetHub&sort=created", method="GET"),
    step("scenario list --limit many", "/api/scenarios?limit=many", None, "invalid_request",
        method="GET"),
    step("scenario export --as flow {a}", "/api/scenario/flow", {"id": "{a}"}),
    step("scenario export --as flow {b} --syntax yaml", "/api/scenario/flow",
        {"id": "{b}", "syntax": "yaml"}, "invalid_request"),
    step("scenario edit {a} --name Rent", "/api/scenario/replace", {"id": "{a}", "name": "Rent"}),
    step("scenario edit {a} --tag b --tag a", "/api/scenario/replace", {"id": "{a}",
        "tags": ["b", "a"]}),
    step("scenario edit {a} --tag x,y", "/api/scenario/replace", {"id": "{a}", "tags": ["x,y"]},
        "invalid_request"),
    step("scenario list --tag a", "/api/scenarios?tag=a", method="GET"),
    step(
        "create remark --chain polkadot --text again",
        "/api/create/remark",
        {"chain": "polkadot", "text": "again"},
        gives="e",
    ),
    step("scenario show {e}", "/api/scenario/show", {"id": "{e}"}),
    step("scenario edit {e} --file delay.toml", "/api/scenario/replace", {"id": "{e}",
        "content": DELAY}),
    step("scenario edit {e} --file delay.toml", "/api/scenario/replace", {"id": "{e}",
        "content": DELAY}),
    step("scenario edit {e} --file flow.toml", "/api/scenario/replace", {"id": "{e}",
        "content": "steps = 7"}, "invalid_request"),
    step(
        "scenario edit {e} --file delay.toml --revision 0",
        "/api/scenario/replace",
        {"id": "{e}", "content": DELAY, "revision": "0"},
        "conflict",
    ),
    step("scenario preview delay.toml", "/api/flow/preview", {"flow": DELAY}),
    step("scenario preview waiting.toml", "/api/flow/preview", {"flow": WAITING}),
    step("scenario preview flow.toml", "/api/flow/preview", {"flow": "steps = 7"},
        "invalid_request"),
    step("scenario export {b}", "/api/template/getUrl/{b}", method="GET"),
    step("scenario export abcdefghi", "/getUrl/abcdefghi", None, "not_found", method="GET"),
    step("scenario preview {b}", "/api/info/preview?scenario_id={b}", method="GET"),
    step("scenario preview {d} --width 600", "/api/info/preview?scenario_id={d}&width=600",
        method="GET"),
    step("scenario preview abcdefghi", "/api/info/preview?scenario_id=abcdefghi", None, "not_found",
        method="GET"),
    step("scenario preview {b} --width 7", "/api/info/preview?scenario_id={b}&width=7", None,
        "invalid_request", method="GET"),
    step("template stats ASSETHUB", "/api/template/stats/ASSETHUB", method="GET"),
    step("template stats nowhere", "/api/template/stats/nowhere", None, "not_found", method="GET"),
    step(("xcm", "asset-transfer", *TRANSFER_LINE), "/api/xcm/asset-transfer", TRANSFER),
    step(
        ("tx", "check", "0x240400071468656c6c6f", "--chain", "polkadot", "--sender", BOB),
        "/api/tx/check",
        {"tx": "0x240400071468656c6c6f", "chain": "polkadot", "sender": BOB},
        "chain_unreachable",
    ),
    step(
        ("xcm", "asset-transfer", *TRANSFER_LINE[:-1], "nobody"),
        "/api/xcm/asset-transfer",
        {**TRANSFER, "destinationaddress": "nobody"},
        "invalid_request",
    ),
    step(
        "tx transfer --from polkadot --to assetHub --asset DOT --amount 1.5 --to-address " + BOB,
        "/api/tx/transfer",
        {"source_chain": "polkadot", "dest_chain": "assetHub", "assetid": "DOT", "amount": "1.5",
            "destination_address": BOB},
    ),
    step(("tx", "decode", CALL, "--chain", "polkadot"), "/api/tx/decode", {"tx": CALL,
        "chain": "polkadot"}),
    step(("tx", "decode", "0x12", "--chain", "kusama"), "/api/tx/decode", {"tx": "0x12",
        "chain": "kusama"}, "invalid_request"),
    step(
        ("tx", "payload", CALL, "--chain", "polkadot", "--sender", BOB, "--nonce", "0"),
        "/api/tx/payload",
        {"tx": CALL, "chain": "polkadot", "sender": BOB, "nonce": 0},
    ),
    step(
        ("tx", "payload", "{a}", "--step", "1", "--sender", BOB, "--nonce", "0"),
        "/api/tx/payload",
        {"scenario": "{a}", "step": "1", "sender": BOB, "nonce": 0},
    ),
    step(
        ("tx", "payload", "{b}", "--chain", "polkadot", "--sender", BOB),
        "/api/tx/payload",
        {"tx": "{b}", "chain": "polkadot", "sender": BOB},
        "invalid_request",
    ),
    step(
        ("tx", "payload", "--job", "{b}", "--draft", "7", "--sender", BOB),
        "/api/tx/payload",
        {"job": "{b}", "draft": 7, "sender": BOB},
        "not_found",
    ),
    step(
        ("tx", "call", "polkadot", "balances", "transferKeepAlive", BOB, "10000000000"),
        "/api/tx/call",
        {"chain": "polkadot", "pallet": "balances", "method": "transferKeepAlive", "args": [BOB,
            "10000000000"]},
    ),
    step(
        ("tx", "call", "polkadot", "Balances", "transfer_keep_alive", BOB),
        "/api/tx/call",
        {"chain": "polkadot", "pallet": "Balances", "method": "transfer_keep_alive", "args": [BOB]},
        "invalid_request",
    ),
    step(
        ("tx", "batch", "polkadot", CALL, "0x0000"),
        "/api/tx/batch",
        {"chain": "polkadot", "calls": [CALL, "0x0000"]},
        "invalid_request",
    ),
    step(
        ("tx", "batch", "polkadot", CALL, "0x00000c627965", "--kind", "force-batch"),
        "/api/tx/batch",
        {"chain": "polkadot", "calls": [CALL, "0x00000c627965"], "kind": "force-batch"},
    ),
    step("scenario full {a} --step 2", "/api/scenario/info/full", {"id": "{a}", "step": "2"},
        "invalid_request"),
    step(("broadcast", "polkadot", "0x1234"), "/api/chain/Broadcast", {"chain": "polkadot",
        "tx": "0x1234"}, "invalid_request"),
    step("quote --assetin DOT --assetout HDX --amount 2", "/api/swap/quote", {"assetin": "DOT",
        "assetout": "HDX", "amount": 2}, "chain_unreachable"),
    step("create swap --assetin DOT --assetout HDX --amount 2", "/api/create/swap", {
        "assetin": "DOT", "assetout": "HDX", "amount": 2}, "chain_unreachable"),
    step("query polkadot Balances ExistentialDeposit", "/api/actions/query", {"chain": "polkadot",
        "pallet_name": "Balances", "method_name": "ExistentialDeposit", "params": []}),
    step("query polkadot System Number", "/api/actions/query", {"chain": "polkadot",
        "pallet_name": "System", "method_name": "Number"}, "chain_unreachable"),
    step("hrmp openchannels polkadot 2034", "/polkadot/openchannels", {"paraid": 2034},
        "chain_unreachable"),
    step("hrmp openchannels nowhere 2034", "/api/hrmp/nowhere/openchannels", {"paraid": 2034},
        "not_found"),
    step("contract info --abi abi.json 5xy", "/api/contracts/contract_info", {"abiJson": {
        "version": 4}, "address": "5xy"}, "invalid_request"),
    step("job status {b}", "/job/status", {"id": "{b}"}),
    step("job start {b} --every 1s", "/job/start", {"id": "{b}", "every": "1s"}),
    step("job start {b}", "/job/start", {"id": "{b}"}),
    step("job start abcdefghi", "/job/start", {"id": "abcdefghi"}, "not_found"),
    step("job start {a} --every soon", "/job/start", {"id": "{a}", "every": "soon"},
        "invalid_request"),
    step("job status {b}", "/job/status", {"id": "{b}"}),
    step("job list", "/job/list", method="GET"),
    step("job list --state walking", "/job/list?state=walking", None, "invalid_request",
        method="GET"),
    step("scenario delete {b} --yes", "/api/scenario/delete", {"id": "{b}"}, "conflict"),
    step("job run {b}", "/job/run", {"id": "{b}"}),
    step("job run {c}", "/job/run", {"id": "{c}"}, "chain_unreachable"),
    step("job run {w} --timeout soon", "/job/run", {"id": "{w}", "timeout": "soon"},
        "invalid_request"),
    step("job logs {b}", "/scenario/worker/logs", {"id": "{b}"}),
    step("job logs {b} --after 0 --limit 1", "/scenario/worker/logs", {"id": "{b}", "after": 0,
        "limit": 1}),
    step("job logs abcdefghi", "/scenario/worker/logs", {"id": "abcdefghi"}, "not_found"),
    step("job mempool {b}", "/scenario/tx", {"id": "{b}"}),
    step(
        ("tx", "payload", "--job", "{b}", "--sender", BOB, "--nonce", "0"),
        "/api/tx/payload",
        {"job": "{b}", "sender": BOB, "nonce": 0},
    ),
    step("job mempool {c}", "/scenario/tx", {"id": "{c}"}),
    step("job mempool {b} --after 0 --limit 1", "/scenario/tx", {"id": "{b}", "after": 0,
        "limit": 1}),
    step("job mempool {b} --after x", "/scenario/tx", {"id": "{b}", "after": "x"},
        "invalid_request"),
    step("job pause {b}", "/job/pause", {"id": "{b}"}),
    step("job pause {b}", "/job/pause", {"id": "{b}"}),
    step("job pause {c}", "/job/pause", {"id": "{c}"}, "conflict"),
    step("job resume {b}", "/job/resume", {"id": "{b}"}),
    step("job resume abcdefghi", "/job/resume", {"id": "abcdefghi"}, "not_found"),
    step("job start {b} --every 2h --pause-after 3", "/job/start", {"id": "{b}",
        "every": "2h", "pause_after": "3"}),
    step("job status {b}", "/job/status", {"id": "{b}"}),
    step("job stop {b}", "/job/stop", {"id": "{b}"}),
    step("job stop {b}", "/job/stop", {"id": "{b}"}),
    step(f"webhook post {UUID} event.json", f"/webhook/{UUID}", {"amount": 5}),
    step(f"webhook post {UUID[:-1]}e event.json", f"/webhook/{UUID[:-1]}e", {"amount": 5},
        "not_found"),
    step(f"webhook list {UUID}", f"/api/webhooks/{UUID}", method="GET"),
    step("scenario delete {b} --yes", "/api/scenario/delete", {"id": "{b}"}),
    step("scenario delete {b} --yes", "/api/scenario/delete", {"id": "{b}"}, "not_found"),
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of the story are."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "webhook.json": json.dumps(WEBHOOK),
        "flow.toml": "steps = 7",
        "waiting.toml": WAITING,
        "delay.toml": DELAY,
        "flow.json": '{"a":',
        "bomb.txt": BOMB,
        "empty.txt": "",
        "abi.json": '{"version": 4}',
        "event.json": '{"amount": 5}',
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def serving(folder: Path) -> Iterator[Serving]:
    (folder / "served").mkdir()
    with Serving(folder / "served") as serving:
        yield serving


def fill(value: Any, ids: dict[str, str]) -> Any:
    """Return *value* with the ids that earlier steps gave."""
    if isinstance(value, dict):
        return {name: fill(each, ids) for name, each in value.items()}
    if not isinstance(value, str):
        return value
    return re.sub(r"\{([a-z])\}", lambda found: ids[found[1]], value)


def find_id(answer: dict[str, Any]) -> str:
    found = answer.get("shortUrl") or answer.get("result") or answer.get("id")
    return str(found or answer["swap"]["scenarioid"])


def level(value: Any, ids: dict[str, str]) -> Any:
    """Return *value* without what may differ: ids, dates, revisions, and sizes, since ids compress
    as they like."""
    if isinstance(value, dict):
        return {
            # Steps of a run are named by their nodes.
            level(name, ids): level(read_share(each) if name == "longUrl" else each, ids)
            for name, each in value.items()
            if name not in ("size", "revision", "seconds")
        }
    if isinstance(value, list):
        return [level(each, ids) for each in value]
    if not isinstance(value, str):
        return value
    for name, id in ids.items():
        value = value.replace(id, f"<{name}>")
    value = re.sub(r'"revision": "[0-9a-f]{16}"', '"revision": "<revision>"', value)
    value = re.sub(r'"seconds": [0-9.]+', '"seconds": "<seconds>"', value)
    value = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>", value)
    value = re.sub(r"\d{4}-\d\d-\d\d[T ][0-9:.]+Z?", "<date>", value)
    return re.sub(r"\b([a-zA-Z]+)_[0-9a-f]{6}\b", r"\1_<node>", value)


def play(tell: Callable[[Step, dict[str, str]], tuple[Any, int]]) -> Told:
    """Play the story at the edge that *tell* speaks to."""
    told = Told()
    for each in STORY:
        answer, exit_code = tell(each, told.ids)
        if each.gives:
            told.ids[each.gives] = find_id(answer)
        told.answers.append(level(answer, told.ids))
        told.exits.append(exit_code)
    return told


def on_the_line(scenarioctl: Run, *flags: str) -> Callable[[Step, dict[str, str]], tuple[Any, int]]:
    def tell(each: Step, ids: dict[str, str]) -> tuple[Any, int]:
        ended = scenarioctl(*flags, *fill_line(each, ids), "--json")
        answer = json.loads(ended.out)
        assert not ended.code or json.loads(ended.err.splitlines()[-1]) == answer
        return answer, ended.code

    return tell


def fill_line(each: Step, ids: dict[str, str]) -> list[str]:
    return [fill(word, ids) for word in each.line]


def over_http(serving: Serving) -> Callable[[Step, dict[str, str]], tuple[Any, int]]:
    def tell(each: Step, ids: dict[str, str]) -> tuple[Any, int]:
        path = fill(each.path, ids)
        reply = (
            serving.get(path)
            if each.method == "GET"
            else serving.post(path, fill(each.fields, ids))
        )
        answer = reply.json()
        code = answer.get("code", "") if reply.status != 200 else ""
        assert reply.status == (OUTCOMES[code].status if code else 200)
        # It repeats a part of the sentence, for pages.
        assert answer.get("error", "").endswith(answer.get("advice", ""))
        return answer, OUTCOMES[code].exit if code else 0

    return tell


def test_the_story_is_the_same_on_this_machine_over_http_and_with_a_url(
    scenarioctl: Run, folder: Path, serving: Serving
) -> None:
    (folder / "other").mkdir()

    local = play(on_the_line(scenarioctl, "--offline", "--store", str(folder / "s.db")))
    with Serving(folder / "other") as other:
        http = play(over_http(other))
    remote = play(on_the_line(scenarioctl, "--url", f"http://127.0.0.1:{serving.api}"))

    expected = [OUTCOMES[each.code].exit if each.code else 0 for each in STORY]
    codes = [answer.get("code", "") for answer in local.answers]
    assert codes == [each.code for each in STORY]
    for number, each in enumerate(STORY):
        # The command adds the id, whatever the interface calls it, and the warnings, which HTTP has
        # in a header; it asks for the times of a log.
        assert {**local.answers[number], **http.answers[number]} == local.answers[number], each.line
        assert local.answers[number].keys() - http.answers[number].keys() <= {
            "id",
            "warnings",
            "times",
        }
        assert remote.answers[number] == local.answers[number], each.line
    assert local.exits == expected
    assert http.exits == expected
    assert remote.exits == expected


def test_what_people_read_is_the_same_too(scenarioctl: Run, folder: Path, serving: Serving) -> None:
    """Without `--json`, stdout and stderr of a command are those of this machine."""
    url = f"http://127.0.0.1:{serving.api}"
    local: dict[str, str] = {}
    remote: dict[str, str] = {}

    for each in STORY:
        # A PNG can't be read.
        more = ("--format", "svg") if "preview" in each.line else ()
        store = ("--offline", "--store", str(folder / "s.db"))
        here = scenarioctl(*store, *fill_line(each, local), *more)
        there = scenarioctl("--url", url, *fill_line(each, remote), *more)
        if each.gives:
            local[each.gives], remote[each.gives] = here.out.strip(), there.out.strip()
        if each.line[:2] == ("scenario", "export") and "flow" not in each.line and not each.code:
            here_share, there_share = read_share(here.out.strip()), read_share(there.out.strip())
            assert level(here_share, local) == level(there_share, remote)
            continue
        assert level(there.out, remote) == level(here.out, local), each.line
        assert level(there.err, remote) == level(here.err, local), each.line
        assert there.code == here.code == (OUTCOMES[each.code].exit if each.code else 0)
