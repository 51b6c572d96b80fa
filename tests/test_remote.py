"""`--url`: what is sent to a daemon, what is made of its answer, and what is said where there is
none."""

import json
import re
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import quote, unquote

import pytest

from scenarioctl.cli import remote
from scenarioctl.formats.documents import parse_json
from scenarioctl.operations import find_handler
from scenarioctl.operations.results import OUTCOMES
from scenarioctl.server.decoding import Decoder, read_pairs
from scenarioctl.server.endpoints import ENDPOINTS, Endpoint
from tests.conftest import BOB, Ended, Run
from tests.daemons import free_port
from tests.messages import says
from tests.node import Gone

TRANSFER = (
    *("xcm", "asset-transfer", "--from", "polkadot", "--to", "assetHub", "--assetid", "DOT"),
    *("--amount", "15000000000", "--destinationaddress", BOB),
)


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def fields(self) -> Any:
        return json.loads(self.body)


@dataclass
class Script:
    """What a stand-in for a daemon says, and what it was asked."""

    url: str = ""
    status: int = 200
    answer: Any = field(default_factory=lambda: {"result": "polkadot > Remark"})
    #: In place of JSON.
    text: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    #: Answers one after the other, before `answer`; `Gone` cuts the connection.
    first: list[Any] = field(default_factory=list)
    #: Answer without reading the body.
    hasty: bool = False
    asked: list[Sent] = field(default_factory=list)
    wait: threading.Event = field(default_factory=threading.Event)
    waits: bool = False


class Speaker(BaseHTTPRequestHandler):
    script: Script

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def do_GET(self) -> None:
        script = self.script
        if script.waits:
            script.wait.wait(5)
        length = int(self.headers.get("Content-Length", 0))
        body = b"" if script.hasty else self.rfile.read(length)
        script.asked.append(
            Sent(method=self.command, path=self.path, headers=dict(self.headers.items()), body=body)
        )
        answer = script.first.pop(0) if script.first else script.answer
        if answer is Gone:
            self.close_connection = True
            return
        text = json.dumps(answer).encode() if script.text is None else script.text
        self.send_response(script.status)
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(text)),
            **script.headers,
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET  # noqa: N815 - so http.server calls it

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing on stderr."""


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@contextmanager
def served(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture
def script() -> Iterator[Script]:
    """A stand-in for a daemon, on a port of its own."""
    script = Script()
    speaker = type("ScriptedSpeaker", (Speaker,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), speaker)
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_port}"
    with served(server):
        yield script
        script.wait.set()


def is_whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: ([0-9]+)", head)
    return bool(end) and len(body) >= int(length[1] if length else 0)


@contextmanager
def saying(data: bytes) -> Iterator[str]:
    """Accept one connection after the other and say *data* to each; yields the url."""

    class Sayer(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            # All of the request: what is left unread resets the connection.
            asked = self.request.recv(65536)
            while asked[:1].isalpha() and not is_whole(asked):
                asked += self.request.recv(65536)
            self.request.sendall(data)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Sayer)
    server.daemon_threads = True
    with served(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


@pytest.mark.parametrize(
    ("line", "method", "path", "fields"),
    [
        (("info", "abc"), "POST", "/api/scenario/info", {"id": "abc"}),
        (("template", "stats", "a b/c?d"), "GET", "/api/template/stats/a%20b%2Fc%3Fd", None),
        (
            ("scenario", "list", "--ascending"),
            "GET",
            "/api/scenarios?limit=1000&descending=false",
            None,
        ),
        (
            ("scenario", "list", "--limit", "5", "--search", "ü & ö", "--descending"),
            "GET",
            "/api/scenarios?limit=5&search=%C3%BC%20%26%20%C3%B6&descending=true",
            None,
        ),
        (
            TRANSFER,
            "POST",
            "/api/xcm/asset-transfer",
            {
                "sourchain": "polkadot",
                "destchain": "assetHub",
                "assetid": "DOT",
                "amount": "15000000000",
                "destinationaddress": BOB,
            },
        ),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_what_is_given_is_sent_and_nothing_else(
    scenarioctl: Run, script: Script, line: tuple[str, ...], method: str, path: str, fields: Any
) -> None:
    scenarioctl("--url", script.url, *line)

    (sent,) = script.asked
    assert (sent.method, sent.path) == (method, path)
    assert (json.loads(sent.body) if sent.body else None) == fields
    assert sent.headers.get("Content-Type") == ("application/json" if fields is not None else None)
    assert "Authorization" not in sent.headers


def test_the_key_of_an_event_is_sent_in_its_header(
    scenarioctl: Run, script: Script, tmp_path: Path
) -> None:
    script.answer = {"success": True, "id": 7}
    line = ("webhook", "post", "uuid", "-", "--idempotency-key")
    event = tmp_path / "event.json"
    event.write_text("5")

    refused = scenarioctl("--url", script.url, *line, "ü", stdin=event)
    posted = scenarioctl("--url", script.url, *line, "evt_1", stdin=event)

    assert (refused.code, refused.err) == (2, says("Idempotency-Key", "header"))
    assert posted.out == "7\n"
    (sent,) = script.asked
    assert (sent.headers["Idempotency-Key"], sent.fields) == ("evt_1", 5)


def sample(hint: Any) -> Any:
    """Return a value that a field of that type may have, with letters that mean something on the
    way."""
    if hint is Any or hint is object:
        return {"key": [1, "2", None, 1.5, True, "ü/%"]}
    kinds = get_args(hint) or (hint,)
    if bool in kinds:
        return True
    if get_origin(hint) is tuple:
        return ("a,b&c", "ü/% ?#")
    return "ü/% ?#&=+" if str in kinds else 7


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: row.operation)
@pytest.mark.parametrize("whole", [True, False], ids=["all fields", "what is needed"])
def test_what_is_written_is_read_as_the_same_request(row: Endpoint, whole: bool) -> None:
    _, request_type = find_handler(row.operation)
    hints = get_type_hints(request_type)
    request = request_type(
        **{
            each.name: sample(hints[each.name])
            for each in fields(request_type)
            if whole or each.default is MISSING
        }
    )

    target, body = remote.write_request(row, request)

    path, _, query = target.partition("?")
    names = [part for part in row.path.split("/") if part.startswith("{")]
    pattern = re.escape(row.path)
    for name in names:
        pattern = pattern.replace(re.escape(name), "([^/]+)")
    found = re.fullmatch(pattern, path)
    assert found is not None
    parameters = {
        name[1:-1]: unquote(value, errors="strict")
        for name, value in zip(names, found.groups(), strict=True)
    }
    decoder = Decoder(request_type, in_path=row.in_path)
    content = (
        decoder.read_query(read_pairs(query))
        if body is None
        else parse_json(body, field="the body")
    )
    parameters |= remote.fields_in_headers(request)
    assert decoder.decode(content, parameters) == request
    assert (body is None) == (row.method == "GET")


def test_notes_and_warnings_are_said_on_stderr(scenarioctl: Run, script: Script) -> None:
    script.answer = {"txdata": "0x0400", "spec_version": 1}
    script.headers = {
        "Scenarioctl-Notes": quote(json.dumps(["1 DOT would bring ü"])),
        "Scenarioctl-Warnings": quote(json.dumps(["mind \x1b[31m this"])),
    }

    ended = scenarioctl("--url", script.url, *TRANSFER)

    assert ended == Ended(
        out="0x0400\n",
        err="1 DOT would bring ü\nWarning: mind \N{REPLACEMENT CHARACTER}[31m this\n",
        code=0,
    )


@pytest.mark.parametrize("code", OUTCOMES)
def test_an_error_of_the_daemon_is_the_same_error_here(
    scenarioctl: Run, script: Script, code: str
) -> None:
    outcome = OUTCOMES[code]
    script.status, script.answer = (
        outcome.status,
        {"error": "it went wrong", "code": code, "hash": "0x12"},
    )

    plain = scenarioctl("info", "abc", "--url", script.url)
    as_json = scenarioctl("info", "abc", "--url", script.url, "--json")

    assert plain == Ended(out="", err="Error: it went wrong\n", code=outcome.exit)
    said = json.dumps(script.answer) + "\n"
    assert as_json == Ended(out=said, err=said, code=outcome.exit)


def test_an_error_of_the_daemon_names_the_option_that_was_typed(
    scenarioctl: Run, script: Script
) -> None:
    script.status = 422
    script.answer = {
        "error": "destchain 'asethub' is not a chain",
        "code": "invalid_request",
        "field": "destchain",
        "value": "asethub",
    }

    plain = scenarioctl(*TRANSFER, "--url", script.url)
    as_json = scenarioctl(*TRANSFER, "--url", script.url, "--json")

    assert plain == Ended(out="", err="Error: --to 'asethub' is not a chain\n", code=2)
    assert json.loads(as_json.out) == script.answer


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8080", "ftp://h", "http://h:x", "http://[::1", "unix://a/b", "http://h/?x=1"),
        *("http://me:secret@h", "http://me:secret@h:99999", "ftp://me:secret@h"),
        "http://me:secret@[::1",
    ],
)
def test_an_address_that_is_none_is_refused(scenarioctl: Run, url: str) -> None:
    ended = scenarioctl("info", "abc", "--url", url)

    told = says("password", "SCENARIOCTL_TOKEN") if "secret" in url else says(url, "unix:///")
    assert (ended.out, ended.err, ended.code) == ("", told.printed, 2)
    assert "secret" not in ended.err


@pytest.mark.parametrize(
    ("how", "back"),
    [
        ("flag", "leave out --url"),
        ("variable", "unset SCENARIOCTL_URL"),
        ("file", "remove url from config.toml"),
    ],
)
def test_a_daemon_that_is_not_there_is_named(
    scenarioctl: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    back: str,
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    line = ["info", "abc", "--json"]
    if how == "flag":
        line += ["--url", url]
    elif how == "variable":
        monkeypatch.setenv("SCENARIOCTL_URL", url)
    else:
        path = tmp_path / "c.toml"
        path.write_text(f'url = "{url}"\n')
        line += ["--config", str(path)]

    ended = scenarioctl(*line)

    error = {
        "error": (
            f"no daemon answers at {url} (connection refused). Start it with scenarioctl "
            f"daemon, or {back} to run locally"
        ),
        "code": "daemon_unreachable",
    }
    said = json.dumps(error) + "\n"
    assert ended == Ended(out=said, err=said, code=5)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", ("does not speak HTTP", "SSH-2.0-OpenSSH_9")),
        (b"", ("closed", "before its answer was complete")),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"res', ("closed", "5 bytes")),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
            ("HTTP 200", "'text/html'", "Check the address"),
        ),
        (
            b'HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\n{"detail":"Not Found"}',
            ("HTTP 404", "other JSON", "Check the address"),
        ),
        (
            b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nLocation: https://else.example/\r\n\r\n",
            ("redirects to 'https://else.example/'", "HTTP 301"),
        ),
    ],
    ids=[
        "another protocol",
        "silence",
        "half an answer",
        "a page",
        "another service",
        "a redirect",
    ],
)
def test_what_is_no_daemon_is_said_to_be_none(
    scenarioctl: Run, data: bytes, words: tuple[str, ...]
) -> None:
    with saying(data) as url:
        ended = scenarioctl("info", "abc", "--url", url)

    assert (ended.out, ended.err, ended.code) == ("", says(url, *words).printed, 5)


def test_a_daemon_that_does_not_answer_is_not_waited_for_for_ever(
    scenarioctl: Run, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "READING", 0.1)
    script.waits = True

    read = scenarioctl("info", "abc", "--url", script.url)
    written = scenarioctl("scenario", "edit", "abc", "--name", "rent", "--url", script.url)

    said = f"Error: the daemon at {script.url} did not answer within 0.1 seconds"
    assert read == Ended(out="", err=f"{said}\n", code=5)
    assert written == Ended(out="", err=f"{said}; it may have carried out the request\n", code=5)


def test_a_token_in_the_clear_to_another_machine_is_warned_of(
    scenarioctl: Run, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCENARIOCTL_TOKEN", "sctl_secret")

    ended = scenarioctl("info", "abc", "--url", script.url.replace("127.0.0.1", "0.0.0.0"))

    assert ended == Ended(
        out="polkadot > Remark\n",
        err="Warning: the token is sent to 0.0.0.0 without encryption. Use https.\n",
        code=0,
    )


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://[::1]:8080", True),
        ("unix:///run/scenarioctl.sock", True),
        ("http://127.evil.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("http://10.0.0.1", False),
    ],
)
def test_only_this_machine_is_local_whatever_a_name_begins_with(url: str, local: bool) -> None:
    assert remote.parse_url(url).is_local is local


def test_the_token_of_one_daemon_is_not_sent_to_another(
    scenarioctl: Run, script: Script, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('url = "https://daemon.example"\ntoken = "sctl_secret"\n')

    ended = scenarioctl("--config", str(config), "info", "abc", "--url", script.url)

    assert "Authorization" not in script.asked[0].headers
    assert ended == Ended(
        out="polkadot > Remark\n",
        err="Warning: the token in config.toml is for https://daemon.example and was not sent. "
        "Set SCENARIOCTL_TOKEN for another daemon.\n",
        code=0,
    )


def test_a_token_that_no_header_holds_is_refused_without_being_shown(
    scenarioctl: Run, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCENARIOCTL_TOKEN", "sctl sécret")

    ended = scenarioctl("info", "abc", "--url", script.url)

    assert ended == Ended(
        out="",
        err=(
            "Error: token (SCENARIOCTL_TOKEN) contains characters that no token has, expected "
            "letters, digits, - and _\n"
        ),
        code=2,
    )
    assert script.asked == []


def test_a_daemon_at_a_unix_socket_is_reached(scenarioctl: Run, tmp_path: Path) -> None:
    script = Script()
    speaker = type(
        "ScriptedSpeaker", (Speaker,), {"script": script, "address_string": lambda _: "unix"}
    )
    path = tmp_path / "a daemon.sock"

    with served(UnixServer(str(path), speaker)):
        ended = scenarioctl("info", "abc", "--url", "unix://" + quote(str(path)))

    assert ended == Ended(out="polkadot > Remark\n", err="", code=0)
    assert script.asked[0].headers["Host"] == "localhost"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            ("--offline",),
            (
                "offline cannot be combined with url '{url}', because the daemon decides "
                "whether it connects to chains. Leave one out"
            ),
        ),
        (
            ("--store", "s.db"),
            (
                "store cannot be combined with url '{url}', because the daemon has its own "
                "store. Leave one out"
            ),
        ),
    ],
)
@pytest.mark.parametrize("by_variable", [False, True])
def test_what_only_the_daemon_can_say_is_refused_beside_it(
    scenarioctl: Run,
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    sentence: str,
    by_variable: bool,
) -> None:
    if by_variable:
        monkeypatch.setenv("SCENARIOCTL_URL", script.url)

    ended = scenarioctl(*flags, "info", "abc", *(() if by_variable else ("--url", script.url)))

    assert ended == Ended(out="", err=f"Error: {sentence.format(url=script.url)}\n", code=2)
    assert script.asked == []


@pytest.mark.parametrize("line", [("config", "show"), ("config", "init")], ids=" ".join)
def test_commands_about_this_machine_do_not_go_with_a_url(
    scenarioctl: Run, script: Script, monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...]
) -> None:
    refused = scenarioctl("--url", script.url, *line)
    monkeypatch.setenv("SCENARIOCTL_URL", script.url)
    allowed = scenarioctl(*line)

    assert refused == Ended(
        out="",
        err=(
            f"Error: --url cannot be combined with {' '.join(line)}, which acts on this "
            "machine: omit --url\n"
        ),
        code=2,
    )
    assert allowed.code == 0
    assert script.asked == []


def test_an_answer_that_is_beyond_all_size_is_refused(
    scenarioctl: Run, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "ANSWER_LIMIT", 10)

    ended = scenarioctl("info", "abc", "--url", script.url)

    assert ended == Ended(
        out="", err=f"Error: the answer of {script.url} is larger than 10 bytes\n", code=5
    )


def test_a_followed_log_goes_on_when_the_daemon_is_back_and_has_each_line_once(
    scenarioctl: Run, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Any] = [
        {"success": True, "result": ["one"], "next": "1"},
        Gone,
        Gone,
    ]
    script.first = [*answers, {"success": True, "result": ["two"], "next": "2"}]

    def sleep(seconds: float) -> None:
        if not script.first:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)

    ended = scenarioctl("job", "logs", "abc", "--follow", "--url", script.url)

    assert (ended.out, ended.code) == ("one\ntwo\n", 130)
    lost, back, *_ = ended.err.splitlines()
    assert lost.startswith("lost, trying again for 300 seconds: ")
    assert script.url in lost
    assert back == says("following", "again")
    assert [sent.fields["after"] for sent in script.asked] == ["0", "1", "1", "1"]
