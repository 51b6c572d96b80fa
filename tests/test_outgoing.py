"""What http steps send, and what they make of the answers."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from scenarioctl import __version__
from scenarioctl.errors import RequestFailed
from scenarioctl.outgoing import WebAnswer, WebRequest, place_of
from scenarioctl.outgoing.client import MAX_BODY, Outgoing, read_body
from tests.daemons import free_port
from tests.messages import Says, says
from tests.web import Visit, serving

Exchange = tuple[list[Visit], list[float], WebAnswer | str]


def exchange(
    talk: Callable[[Visit], Awaitable[None]],
    *,
    path: str = "/",
    method: str = "GET",
    **options: Any,
) -> Exchange:
    """Return who came, the pauses in between, and the answer or why there is none."""
    visits: list[Visit] = []
    slept: list[float] = []

    async def note(visit: Visit) -> None:
        visits.append(visit)
        await talk(visit)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def go() -> WebAnswer | str:
        outgoing = Outgoing(private_targets=["127.0.0.1"])
        try:
            async with serving(note) as port:
                request = WebRequest(method=method, url=f"http://127.0.0.1:{port}{path}", **options)
                return await outgoing.send(request, sleep=sleep)
        except RequestFailed as failed:
            return str(failed).replace(str(port), "PORT")

    answer = asyncio.run(go())
    return visits, slept, answer


def failure(talk: Callable[[Visit], Awaitable[None]], **options: Any) -> str:
    answer = exchange(talk, **{"retries": 0, **options})[2]
    assert isinstance(answer, str)
    return answer


def success(talk: Callable[[Visit], Awaitable[None]], **options: Any) -> WebAnswer:
    answer = exchange(talk, **options)[2]
    assert isinstance(answer, WebAnswer), answer
    return answer


def saying(*parts: str | bytes) -> Callable[[Visit], Awaitable[None]]:
    async def talk(visit: Visit) -> None:
        await visit.say(*parts)

    return talk


def in_turn(*statuses: str, headers: str = "") -> Callable[[Visit], Awaitable[None]]:
    left = list(statuses)

    async def talk(visit: Visit) -> None:
        await visit.answer("{}", status=left.pop(0), headers=headers)

    return talk


class TestRequest:
    def test_a_request_is_sent_as_it_was_written(self) -> None:
        async def talk(visit: Visit) -> None:
            await visit.answer(
                '{"ok": true}', headers="Content-Type: application/json\r\nX-A: 1\r\nX-a: 2\r\n"
            )

        [visit], _, answer = exchange(
            talk,
            path="/a%2Fb?x=%26&y=1",
            method="POST",
            headers=(("X-Key", "secret"), ("Accept", "*/*")),
            body='{"é": 1}',
            content_type="application/json",
        )

        assert visit.head.split("\r\n", 1)[0] == "POST /a%2Fb?x=%26&y=1 HTTP/1.1"
        assert (visit.header("x-key"), visit.header("content-type")) == (
            "secret",
            "application/json",
        )
        assert visit.header("user-agent") == f"scenarioctl/{__version__}"
        assert visit.body == '{"é": 1}'.encode()
        assert isinstance(answer, WebAnswer)
        assert (answer.status, answer.body, answer.tries) == (200, {"ok": True}, 1)
        assert answer.headers["x-a"] == "1, 2"

    def test_headers_of_ones_own_come_first(self) -> None:
        async def talk(visit: Visit) -> None:
            await visit.answer()

        headers = (
            ("User-Agent", "me"),
            ("content-type", "text/csv"),
            ("Accept-Encoding", "identity"),
        )
        [visit], _, _ = exchange(
            talk, method="PUT", headers=headers, body="a", content_type="text/plain"
        )

        assert (
            visit.head.lower().count("content-type")
            == visit.head.lower().count("accept-encoding")
            == 1
        )
        assert (visit.header("user-agent"), visit.header("content-type")) == ("me", "text/csv")

    def test_no_cookie_is_kept(self) -> None:
        async def talk(visit: Visit) -> None:
            await visit.answer(
                "x",
                headers="Set-Cookie: a=b\r\n",
                status="503 Busy" if len(seen) == 0 else "200 OK",
            )
            seen.append(visit.header("cookie"))

        seen: list[str] = []
        success(talk)

        assert seen == ["", ""]

    def test_the_environment_names_no_proxy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")

        assert success(saying("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")).body == "x"

    @pytest.mark.parametrize(
        ("url", "place"),
        [
            ("https://example.org/a/b?key=1#x", "example.org/a/b"),
            ("http://example.org:81", "example.org:81/"),
            ("http://user:pass@example.org/", "example.org/"),
        ],
    )
    def test_what_is_logged_of_an_address_has_no_secrets(self, url: str, place: str) -> None:
        assert place_of(url) == place


class TestAnswers:
    @pytest.mark.parametrize(
        ("data", "content_type", "body"),
        [
            (b'{"a": [1, 1.5, "x", null]}', "application/json", {"a": [1, 1.5, "x", None]}),
            (b' {"a": 1}', "text/plain", {"a": 1}),
            (b"[1]", "", [1]),
            (b"7", "application/json", 7),
            (b"7", "text/plain", "7"),
            (b"{not json", "application/json", "{not json"),
            (b'{"a": NaN}', "application/json", '{"a": NaN}'),
            ("é".encode("latin-1"), "text/plain; charset=latin-1", "é"),
            ("é".encode(), "text/plain; charset=UTF-8", "é"),
            (b"\xff", "text/plain", "\ufffd"),
            (b"x", "text/plain; charset=nonesuch", "x"),
            (b"+2D3cCQ- +2AA-", "text/plain; charset=utf-7", "\U0001f409 \ufffd\ufffd\ufffd"),
            (b"x", "text/plain; charset=\x00", "x"),
            # None of the web's: Python reads a megabyte of the first for minutes.
            (b"b" * 1024 * 1024, "text/plain; charset=punycode", "b" * 1024 * 1024),
            (rb"\x41", "text/plain; charset=unicode_escape", r"\x41"),
            (b"\xef\xbb\xbf{}", "application/problem+json; charset=utf-8", {}),
            (b"", "application/json", ""),
            # Never rounded: what a double does not keep stays text.
            (b'{"p": 0.1234567890123456789}', "application/json", {"p": "0.1234567890123456789"}),
            (b'{"p": 1e999}', "application/json", {"p": "1e999"}),
            # Beyond what even a Decimal can say.
            (
                b'{"p": [0e99999999999999999999, 1e-99999999999999999999]}',
                "application/json",
                {"p": [0, "1e-99999999999999999999"]},
            ),
            (b'{"p": 12345678901234567890123}', "application/json", {"p": 12345678901234567890123}),
            (b'{"p": ' + b"9" * 5000 + b"}", "application/json", {"p": "9" * 5000}),
            (rb'{"a": "\ud800"}', "application/json", r'{"a": "\ud800"}'),
            (b"[" * 200 + b"]" * 200, "application/json", "[" * 200 + "]" * 200),
            (b"[" * 200_000, "application/json", "[" * 200_000),
        ],
        ids=lambda value: repr(value)[:30],
    )
    def test_a_body_is_read(self, data: bytes, content_type: str, body: Any) -> None:
        assert read_body(data, content_type) == body

    @pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity"])
    def test_a_compressed_answer_is_read(self, encoding: str) -> None:
        plain = b'{"a": 1}'
        packed = {"gzip": gzip.compress(plain), "deflate": zlib.compress(plain), "identity": plain}[
            encoding
        ]

        async def talk(visit: Visit) -> None:
            await visit.answer(packed, headers=f"Content-Encoding: {encoding}\r\n")

        assert success(talk).body == {"a": 1}

    def test_the_answer_to_head_has_no_body(self) -> None:
        talk = saying("HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Encoding: gzip\r\n\r\n")

        assert success(talk, method="HEAD").body == ""

    @pytest.mark.parametrize(
        ("status", "sentence"),
        [
            ("404 Not Found", "127.0.0.1:PORT answered 404"),
            ("400 Bad\tsecret", "127.0.0.1:PORT answered 400"),
            ("304 Same", says("127.0.0.1:PORT", "304")),
        ],
    )
    def test_a_status_that_is_no_success_fails(self, status: str, sentence: Says) -> None:
        assert failure(saying(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")) == sentence

    def test_a_redirect_is_not_followed(self) -> None:
        async def talk(visit: Visit) -> None:
            location = f"http://{visit.header('host')}/inside?token=1"
            await visit.answer(status="302 Found", headers=f"Location: {location}\r\n")

        visits, _, answer = exchange(talk)

        assert len(visits) == 1
        assert answer == says("127.0.0.1:PORT", "302")

    @pytest.mark.parametrize(
        ("parts", "sentence"),
        [
            ([b""], says("127.0.0.1:PORT", "connection")),
            ([b"SSH-2.0-OpenSSH_9.2\r\n"], says("127.0.0.1:PORT", "sent")),
            ([b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"], says("127.0.0.1:PORT", "sent")),
            (
                [b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 20_000 + b"\r\n\r\n"],
                says("127.0.0.1:PORT", "sent"),
            ),
            (
                [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc"],
                says("127.0.0.1:PORT", "sent"),
            ),
            ([b"HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n"], "127.0.0.1:PORT answered 0"),
            (
                [b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"],
                "127.0.0.1:PORT answered 101",
            ),
            (
                [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Encoding: br\r\n\r\nabc"],
                says("127.0.0.1:PORT", "sent"),
            ),
        ],
    )
    def test_an_answer_that_is_none_fails(self, parts: list[bytes], sentence: Says) -> None:
        assert failure(saying(*parts)) == sentence


class TestBounds:
    def test_a_body_up_to_the_limit_is_read(self) -> None:
        async def talk(visit: Visit) -> None:
            await visit.answer(b"x" * MAX_BODY)

        assert len(success(talk).body) == MAX_BODY

    def test_a_longer_body_is_refused_without_an_end_in_sight(self) -> None:
        async def talk(visit: Visit) -> None:
            await visit.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                await visit.say(b"8000\r\n", b"x" * 0x8000, b"\r\n")

        assert failure(talk) == says("127.0.0.1:PORT", "1048576")

    @pytest.mark.parametrize("encoding", ["gzip", "deflate"])
    def test_a_bomb_is_not_unpacked(self, encoding: str) -> None:
        packed = (gzip if encoding == "gzip" else zlib).compress(b"\0" * 64 * 1024 * 1024)

        async def talk(visit: Visit) -> None:
            await visit.answer(packed, headers=f"Content-Encoding: {encoding}\r\n")

        tracemalloc.start()
        sentence = failure(talk)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert sentence == says("127.0.0.1:PORT", "1048576")
        assert peak < 8 * 1024 * 1024

    def test_a_body_that_drips_is_given_up(self) -> None:
        async def talk(visit: Visit) -> None:
            await visit.say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            for _ in range(100):
                await visit.say(b"x")
                await asyncio.sleep(0.02)

        assert failure(talk, timeout=0.2) == says("127.0.0.1:PORT", "0.2")

    def test_headers_that_drip_are_given_up(self) -> None:
        async def talk(visit: Visit) -> None:
            await visit.say("HTTP/1.1 200 OK\r\n")
            for number in range(100):
                await visit.say(f"X-{number}: x\r\n")
                await asyncio.sleep(0.02)

        assert failure(talk, timeout=0.2) == says("127.0.0.1:PORT", "0.2")

    def test_headers_without_end_are_given_up(self) -> None:
        async def talk(visit: Visit) -> None:
            await visit.say("HTTP/1.1 200 OK\r\n")
            while True:
                await visit.say("X: " + "x" * 1000 + "\r\n")

        tracemalloc.start()
        sentence = failure(talk, timeout=60)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert sentence == "127.0.0.1:PORT sent a malformed response"
        assert peak < 16 * 1024 * 1024


class TestRetries:
    def test_a_passing_failure_is_tried_again_after_growing_pauses(self) -> None:
        visits, slept, answer = exchange(in_turn("503 Busy", "500 Oops", "200 OK"))

        assert isinstance(answer, WebAnswer)
        assert (len(visits), answer.tries, answer.body) == (3, 3, {})
        assert 0.375 <= slept[0] <= 0.625
        assert 0.75 <= slept[1] <= 1.25

    def test_it_is_given_up_after_the_last_try(self) -> None:
        visits, _, answer = exchange(in_turn(*["502 Bad"] * 3))

        assert (len(visits), answer) == (3, says("127.0.0.1:PORT", "502", "3"))

    @pytest.mark.parametrize("method", ["POST", "PATCH"])
    def test_what_may_have_been_done_is_not_done_twice(self, method: str) -> None:
        visits, slept, answer = exchange(in_turn("503 Busy"), method=method)

        assert (len(visits), slept, answer) == (1, [], "127.0.0.1:PORT answered 503")

    @pytest.mark.parametrize("method", ["POST", "GET"])
    def test_a_connection_that_was_never_made_is_tried_again(self, method: str) -> None:
        async def go() -> tuple[list[float], str]:
            slept = []

            async def sleep(seconds: float) -> None:
                slept.append(seconds)

            port = free_port()
            outgoing = Outgoing(private_targets=["127.0.0.1"])
            with pytest.raises(RequestFailed) as failed:
                await outgoing.send(
                    WebRequest(method=method, url=f"http://127.0.0.1:{port}/"), sleep=sleep
                )
            return slept, str(failed.value).replace(str(port), "PORT")

        slept, sentence = asyncio.run(go())

        assert len(slept) == 2
        assert sentence == says("127.0.0.1:PORT", "3")

    def test_a_server_that_asks_to_wait_is_left_alone_that_long(self) -> None:
        _, slept, answer = exchange(in_turn("429 Slow", "200 OK", headers="Retry-After: 7\r\n"))

        assert slept == [7.0]
        assert isinstance(answer, WebAnswer)

    def test_a_server_that_asks_for_too_long_is_given_up(self) -> None:
        visits, slept, answer = exchange(in_turn("429 Slow", headers="Retry-After: 3600\r\n"))

        assert (len(visits), slept) == (1, [])
        assert answer == says("127.0.0.1:PORT", "429", "3600")

    def test_a_hung_up_connection_is_tried_again(self) -> None:
        left = [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]

        async def talk(visit: Visit) -> None:
            await visit.say(left.pop(0))

        assert success(talk).tries == 2


def test_many_requests_go_out_side_by_side() -> None:
    async def go() -> int:
        arrived = 0
        all_there = asyncio.Event()

        async def talk(visit: Visit) -> None:
            nonlocal arrived
            arrived += 1
            if arrived == 50:
                all_there.set()
            await all_there.wait()
            await visit.answer("x")

        outgoing = Outgoing(private_targets=["127.0.0.0/8"])
        async with serving(talk) as port:
            request = WebRequest(method="GET", url=f"http://127.0.0.1:{port}/", timeout=60)
            answers = await asyncio.gather(*(outgoing.send(request) for _ in range(50)))
        return len(answers)

    assert asyncio.run(go()) == 50
