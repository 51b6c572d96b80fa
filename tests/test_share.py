"""The editor's share strings."""

import base64
import json
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.errors import BadJson, InvalidRequest, ScenarioctlError, TooLarge
from scenarioctl.formats.documents import MAX_BYTES, read_import, read_share, write_share
from tests.messages import Says, raises, says
from tests.test_documents import documents

DOCUMENT = {"nodes": [{"id": "chain_0", "data": "Grüße 134623 þ"}], "edges": []}


def share_of(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


#: Has `+`, `/` and padding in it.
SHARE = (
    "eJyrVsrLT0ktVrKKrlbKTFGyUkrOSMzMizdQ0lFKSSxJBAq4Fx3ec3h+qoKhsYmZkbHC4X1KtbE6Sqkp6WBdsb"
    "UA3/MWRg=="
)


def test_a_share_string_is_base64_of_a_zlib_stream() -> None:
    shared = write_share(DOCUMENT)

    assert json.loads(zlib.decompress(base64.b64decode(shared, validate=True))) == DOCUMENT


@pytest.mark.parametrize(
    "text",
    [
        SHARE,
        SHARE.rstrip("="),
        SHARE.rstrip("=") + "====",
        f"  {SHARE}\n",
        "\r\n".join(SHARE[at : at + 20] for at in range(0, len(SHARE), 20)),
        SHARE.replace("+", "-").replace("/", "_"),
        f"https://editor.example/#/create/?diagramData={SHARE}",
        f"https://editor.example/#/create/?diagramData={SHARE}&theme=dark",
        f"https://editor.example/?diagramData={SHARE}#top",
        "https://editor.example/?a=b&diagramData="
        + SHARE.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"),
    ],
)
def test_a_share_string_is_read_however_it_was_pasted(text: str) -> None:
    assert read_share(text) == DOCUMENT


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", says("url", "empty")),
        (" \n", says("url", "empty")),
        ("====", says("url", "====", "base64")),
        ("no base64!", says("url", "no base64!")),
        ("eJzé", says("url", "eJzé", "base64")),
        ("abcde", says("url", "abcde", "base64")),
        ("abcdefgh", says("url", "abcdefgh")),
        (
            "https://editor.example/#/create/?diagramData=lnr8CfoQX",
            says("url", "lnr8CfoQX"),
        ),
        (base64.b64encode(zlib.compress(b"{}")[:-1]).decode(), says("url", "eJyrrgUAAXUA")),
        (base64.b64encode(zlib.compress(b"{}") + b"more").decode(), says("url", "4")),
    ],
)
def test_what_is_no_share_string_is_refused(text: str, sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        read_share(text)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\xff\xfe", says("url", "UTF-8")),
        (b"{", says("url", "JSON", "1", "2")),
        (b'{"x": NaN}', says("url", "NaN", "JSON")),
    ],
)
def test_a_share_string_of_something_else_is_refused(data: bytes, sentence: Says) -> None:
    with raises(BadJson, sentence):
        read_share(share_of(data))


def test_a_bomb_is_refused() -> None:
    with raises(TooLarge, says("url", "16777216")):
        read_share(share_of(b" " * (MAX_BYTES + 1)))


def test_a_string_beyond_any_diagram_is_refused_unread() -> None:
    with raises(TooLarge, says("url", "25165824")):
        read_share("A" * (MAX_BYTES * 3 // 2 + 1))


@pytest.mark.parametrize(
    "text",
    [
        SHARE,
        SHARE.encode(),
        json.dumps(DOCUMENT),
        json.dumps(DOCUMENT).encode(),
        "\n  " + json.dumps(DOCUMENT, indent=1),
        b"\xef\xbb\xbf" + json.dumps(DOCUMENT).encode(),
        "\ufeff" + json.dumps(DOCUMENT),
    ],
)
def test_an_import_is_json_or_a_share_string(text: str | bytes) -> None:
    assert read_import(text) == DOCUMENT


def test_an_import_that_is_not_text_is_refused() -> None:
    with raises(InvalidRequest, says("diagram", "JSON")):
        read_import(b"\x78\x9c\xab\xff")


@settings(deadline=None)
@given(documents, st.integers(0, 3))
def test_what_is_shared_comes_back(document: Any, padding: int) -> None:
    shared = write_share(document)

    assert read_share(shared) == document
    assert read_share(shared.rstrip("=") + "=" * padding) == document


@settings(deadline=None)
@given(st.text(max_size=60) | st.binary(max_size=60).map(share_of))
def test_any_text_is_a_document_or_a_sentence(text: str) -> None:
    try:
        document = read_share(text)
    except ScenarioctlError as refused:
        assert str(refused).startswith("url ")
        return

    assert read_share(write_share(document)) == document
