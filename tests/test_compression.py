"""The stored form of a scenario."""

import subprocess
import sys
from typing import Any

import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest, ScenarioctlError, TooLarge
from scenarioctl.formats.documents import MAX_BYTES, pack, unpack
from tests.messages import raises, says
from tests.test_documents import documents

DOCUMENT = {"nodes": [{"id": "ä", "position": {"x": 0.1, "y": -3}}], "edges": []}


def test_a_blob_is_an_lz4_frame_of_canonical_json() -> None:
    blob = pack(DOCUMENT)

    assert (
        lz4.frame.decompress(blob)
        == '{"edges":[],"nodes":[{"id":"ä","position":{"x":0.1,"y":-3}}]}'.encode()
    )
    assert unpack(blob) == DOCUMENT


@settings(deadline=None)
@given(documents)
def test_what_is_packed_comes_back(document: Any) -> None:
    assert unpack(pack(document)) == document


def test_a_document_above_the_limit_is_not_packed() -> None:
    with raises(TooLarge, says("16777218", "JSON", "16777216")):
        pack("a" * MAX_BYTES)


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (b"", "its end is missing"),
        (b"not a frame", "it is not an LZ4 frame"),
        (pack(DOCUMENT)[:-1], "its end is missing"),
        (pack(DOCUMENT) + b"x", "1 bytes follow its end"),
        (pack(DOCUMENT) + pack(DOCUMENT), f"{len(pack(DOCUMENT))} bytes follow its end"),
        (lz4.frame.compress(b"{"), "it does not hold JSON"),
        (lz4.frame.compress(b"\xff\xfe\xfd"), "it does not hold JSON"),
        (lz4.frame.compress(b"[" * 100_000), "it does not hold JSON"),
        (lz4.frame.compress(b"9" * 100_000), "it does not hold JSON"),
    ],
)
def test_a_damaged_blob_is_refused_by_its_reason(blob: bytes, reason: str) -> None:
    with raises(InvalidRequest, says("scenario", reason)):
        unpack(blob, name="scenario abc")


def test_one_wrong_byte_is_noticed_wherever_it_is() -> None:
    blob = pack({"nodes": [{"id": "abcdefgh" * 8}], "edges": [str(n) for n in range(50)]})

    for position in range(len(blob)):
        wrong = blob[:position] + bytes([blob[position] ^ 0x41]) + blob[position + 1 :]
        with pytest.raises(ScenarioctlError):
            unpack(wrong)


def test_a_bomb_stops_at_the_limit() -> None:
    """A gibibyte of zeros in 4 MB must not be unpacked to find out that it is one."""
    script = (
        "import lz4.frame, resource\n"
        "from scenarioctl.errors import TooLarge\n"
        "from scenarioctl.formats.documents import unpack\n"
        "packer = lz4.frame.LZ4FrameCompressor()\n"
        "bomb = packer.begin()\n"
        "for _ in range(256): bomb += packer.compress(bytes(1 << 22))\n"
        "bomb += packer.flush()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: unpack(bomb)\n"
        "except TooLarge as error: print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024 < 80)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == says("diagram", "16777216").within("{}\nTrue\n")


@settings(deadline=None)
@given(st.binary(max_size=200) | st.binary(max_size=100).map(lz4.frame.compress))
def test_any_bytes_are_a_document_or_a_sentence(blob: bytes) -> None:
    try:
        document = unpack(blob)
    except (InvalidRequest, TooLarge) as refused:
        assert str(refused).startswith("the stored diagram ")
        return

    assert unpack(pack(document)) == document
