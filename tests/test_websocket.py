"""The client's side of a WebSocket, against servers that keep to RFC 6455 and against others, byte by byte."""

import os
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha1
from pathlib import Path

import pytest
from aiohttp import WSMsgType, web

from scenarioctl.chains.websocket import Broken, NoWebSocket, WebSocket
from tests.loopback import Server

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
LARGEST = 1000
Talk = Callable[[socket.socket], None]


class Echo(Server):
    """Says again what it hears."""

    async def talk(self, http: web.Request, socket: web.WebSocketResponse) -> None:
        self.headers = dict(http.headers)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await socket.ping(b"are you there?")
                await socket.send_str(message.data)


@contextmanager
def raw(talk: Talk, *, context: ssl.SSLContext | None = None, shakes_hands: bool = True) -> Iterator[str]:
    """Give the address of a server that does what *talk* does with its only connection, after the handshake."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            plain, _ = listening.accept()
            with suppress(OSError), plain:
                connection = plain if context is None else context.wrap_socket(plain, server_side=True)
                with connection:
                    if shakes_hands:
                        connection.sendall(accept(head(connection)))
                    talk(connection)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"{'ws' if context is None else 'wss'}://localhost:{listening.getsockname()[1]}/"
        thread.join(10)


def head(connection: socket.socket) -> bytes:
    read = b""
    while b"\r\n\r\n" not in read:
        more = connection.recv(1)
        if not more:
            raise ConnectionResetError
        read += more
    return read


def accept(request: bytes, **changes: str) -> bytes:
    (key,) = (line[19:] for line in request.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key: "))
    fields = {
        "Upgrade": "WebSocket",
        "Connection": "upgrade",
        "Sec-WebSocket-Accept": b64encode(sha1(key + GUID).digest()).decode(),
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    lines = [f"{name}:  {value}" for name, value in fields.items() if value]
    return ("HTTP/1.1 101 Switching Protocols\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode()


def frame(first: int, payload: bytes, *, masked: bool = False) -> bytes:
    size = len(payload)
    if size < 126:
        length = bytes([size])
    elif size < 1 << 16:
        length = b"\x7e" + struct.pack(">H", size)
    else:
        length = b"\x7f" + struct.pack(">Q", size)
    if masked:
        length = bytes([length[0] | 0x80]) + length[1:] + bytes(4)
    return bytes([first]) + length + payload


def says(*data: bytes, pause: float = 0.0) -> Talk:
    """Return a server that sends *data*, with pauses between, and then waits for the other side to go."""

    def talk(connection: socket.socket) -> None:
        for number, part in enumerate(data):
            if number:
                time.sleep(pause)
            connection.sendall(part)
        while connection.recv(65536):
            pass

    return talk


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536, 3_000_000])
def test_what_is_sent_arrives_and_comes_back(size: int) -> None:
    text = "€" + "x" * size
    with Echo() as server:
        connection = WebSocket(server.url, timeout=5)
        connection.send(text)
        connection.send("and this")
        answers = [connection.recv(10_000_000), connection.recv(10_000_000)]
        connection.close()

    assert answers == [text.encode(), b"and this"]
    assert server.headers["Host"] == server.url.removeprefix("ws://").removesuffix("/")


def test_path_and_query_are_asked_for() -> None:
    asked: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        asked.append(head(connection))
        connection.sendall(accept(asked[0]))

    with raw(talk, shakes_hands=False) as url:
        connection = WebSocket(url + "rpc/v1?key=a%20b", timeout=5)
        connection.close()

    lines = asked[0].split(b"\r\n")
    assert lines[0] == b"GET /rpc/v1?key=a%20b HTTP/1.1"
    assert lines[1] == b"Host: " + url.removeprefix("ws://").removesuffix("/").encode()


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (frame(0x81, b"hello"), b"hello"),
        (frame(0x82, b"\xff\x00"), b"\xff\x00"),
        (frame(0x01, b"he") + frame(0x00, b"") + frame(0x80, b"llo"), b"hello"),
        (frame(0x01, b"he") + frame(0x89, b"ping") + frame(0x8A, b"") + frame(0x80, b"llo"), b"hello"),
        (frame(0x8A, b"nobody asked") + frame(0x81, b"x" * 200), b"x" * 200),
        (frame(0x88, struct.pack(">H", 1001) + b"bye"), b""),
        (frame(0x88, b""), b""),
    ],
    ids=["text", "bytes", "fragments", "control between fragments", "a pong first", "a farewell", "a short farewell"],
)  # fmt: skip
@pytest.mark.parametrize("piece", [1000, 1], ids=["at once", "byte by byte"])
def test_a_message_is_read(sent: bytes, message: bytes, piece: int) -> None:
    pieces = [sent[start : start + piece] for start in range(0, len(sent), piece)]
    with raw(says(*pieces)) as url:
        connection = WebSocket(url, timeout=5)
        read = connection.recv(LARGEST)
        connection.close()

    assert read == message


@pytest.mark.parametrize("cut", range(1, 14))
def test_a_message_that_is_late_can_be_waited_for_again(cut: int) -> None:
    sent = frame(0x01, b"hel") + frame(0x80, b"lo") + frame(0x81, b"again")
    with raw(says(sent[:cut], sent[cut:], pause=0.15)) as url:
        connection = WebSocket(url, timeout=5)
        connection.settimeout(0.05)
        read: list[bytes] = []
        waited = 0
        while len(read) < 2:
            try:
                read.append(connection.recv(LARGEST))
            except TimeoutError:
                waited += 1
        connection.close()

    assert read == [b"hello", b"again"]
    assert waited


NO_MESSAGE = "what it sent is no WebSocket message"
TOO_MUCH = f"it sent more than {LARGEST} bytes"


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"", "Connection to remote host was lost."),
        (frame(0x81, b"hello")[:-1], "Connection to remote host was lost."),
        (frame(0x81, b"hello", masked=True), NO_MESSAGE),
        (frame(0xC1, b"deflated"), NO_MESSAGE),
        (frame(0x80, b"goes on with nothing"), NO_MESSAGE),
        (frame(0x01, b"he") + frame(0x81, b"llo"), NO_MESSAGE),
        (frame(0x83, b"?"), NO_MESSAGE),
        (frame(0x8B, b"?"), NO_MESSAGE),
        (frame(0x89, b"x" * 126), NO_MESSAGE),
        (frame(0x09, b"half a ping"), NO_MESSAGE),
        (frame(0x81, b"x" * (LARGEST + 1)), TOO_MUCH),
        (b"\x81\x7f" + struct.pack(">Q", 2**63), TOO_MUCH),
        (frame(0x01, b"x" * 600) + frame(0x80, b"x" * 600), TOO_MUCH),
        (frame(0x01, b"") + frame(0x00, b"") * (2 * LARGEST), TOO_MUCH),
    ],
    ids=[
        "nothing", "half a frame", "masked", "an extension", "no beginning", "two beginnings", "an unknown opcode",
        "an unknown control", "a long ping", "half a ping", "too long", "far too long", "too long together",
        "fragments of nothing",
    ],
)  # fmt: skip
def test_what_is_no_message_is_not_read(sent: bytes, error: str) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    with raw(talk) as url:
        connection = WebSocket(url, timeout=5)
        with pytest.raises(Broken) as refused:
            connection.recv(LARGEST)
        connection.close()

    assert str(refused.value) == error


NO_HANDSHAKE = "its answer to the handshake is not that of a WebSocket"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda _: b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "it answered with the HTTP status 503, not as a WebSocket"),
        (lambda _: b"HTTP/1.0 200 OK\r\n\r\nhello", "it answered with the HTTP status 200, not as a WebSocket"),
        (lambda _: b"HTTP/1.1 301 Moved\r\nLocation: ws://127.0.0.1:1/\r\n\r\n", "it answered with the HTTP status 301, not as a WebSocket"),
        (lambda _: b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "its answer to the handshake is not HTTP"),
        (lambda _: b"HTTP/1.1 fine\r\n\r\n", "its answer to the handshake is not HTTP"),
        (lambda _: b"\r\n\r\n", "its answer to the handshake is not HTTP"),
        (lambda asked: accept(asked, Sec_WebSocket_Accept="x"), NO_HANDSHAKE),
        (lambda asked: accept(asked, Sec_WebSocket_Accept=""), NO_HANDSHAKE),
        (lambda asked: accept(asked, Upgrade="h2c"), NO_HANDSHAKE),
        (lambda _: b"x" * 70_000, "its answer to the handshake has no end"),
        (lambda _: b"HTTP/1.1 101 ", "Connection to remote host was lost."),
    ],
    ids=["503", "200", "301", "SSH", "no status", "no line", "another key", "no key", "another protocol", "no end", "half"],
)  # fmt: skip
def test_an_answer_to_the_handshake_that_is_none_is_refused(
    answer: Callable[[bytes], bytes], error: str
) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(answer(head(connection)))

    with raw(talk, shakes_hands=False) as url, pytest.raises(Broken) as refused:
        WebSocket(url, timeout=5)

    assert str(refused.value) == error
    assert isinstance(refused.value, NoWebSocket) == ("status" in error and "HTTP status" in error)


def test_a_handshake_that_trickles_is_waited_for_no_longer_than_one_that_is_silent() -> None:
    def talk(connection: socket.socket) -> None:
        for _ in range(100):
            connection.sendall(b"H")
            time.sleep(0.05)

    with raw(talk, shakes_hands=False) as url:
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            WebSocket(url, timeout=0.3)
        passed = time.monotonic() - started

    assert 0.2 < passed < 1.5


def test_who_waits_for_a_message_is_woken_where_another_thread_cuts_the_connection() -> None:
    with raw(says()) as url:
        connection = WebSocket(url, timeout=30)
        threading.Timer(0.1, connection.abort).start()
        started = time.monotonic()
        with pytest.raises(Broken):
            connection.recv(LARGEST)
        passed = time.monotonic() - started
        connection.close()

    assert passed < 5


def test_the_other_side_hears_a_farewell() -> None:
    heard = bytearray()

    def talk(connection: socket.socket) -> None:
        while data := connection.recv(65536):
            heard.extend(data)

    with raw(talk) as url:
        WebSocket(url, timeout=5).close()

    assert heard[:2] == b"\x88\x82"
    assert bytes(one ^ other for one, other in zip(heard[6:], heard[2:6], strict=False)) == struct.pack(
        ">H", 1000
    )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a certificate for localhost and its key, good for a day."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    line = (
        "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", *line.split(), *files], check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


def test_wss_is_spoken_with_who_has_a_certificate_for_that_name(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    message = os.urandom(400_000).hex().encode()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))

    with raw(says(frame(0x81, message)), context=context) as url:
        connection = WebSocket(url, timeout=5)
        connection.send("hello")
        read = connection.recv(10_000_000)
        connection.close()
    with raw(says(), context=context) as url, pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        WebSocket(url.replace("localhost", "127.0.0.1"), timeout=5)
    monkeypatch.delenv("SSL_CERT_FILE")
    with (
        raw(says(), context=context) as url,
        pytest.raises(ssl.SSLCertVerificationError, match="self-signed"),
    ):
        WebSocket(url, timeout=5)

    assert read == message
