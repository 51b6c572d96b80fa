"""The stored form of a diagram: compact JSON in an LZ4 frame, readable with `lz4.frame.decompress`."""

import json
from typing import Any

import lz4.frame

from scenarioctl.errors import InvalidRequest, TooLarge
from scenarioctl.formats.documents import MAX_BYTES, canonical_json, check_values


def pack(document: object) -> bytes:
    """Return *document* in its stored form; TooLarge above 16 MiB of JSON."""
    return pack_text(canonical_json(document))


def pack_text(text: bytes) -> bytes:
    """Return *text*, compact JSON, in its stored form; TooLarge above 16 MiB."""
    if len(text) > MAX_BYTES:
        raise TooLarge(f"the diagram is {len(text)} bytes of JSON, the limit is {MAX_BYTES}")
    packed: bytes = lz4.frame.compress(text, content_checksum=True)
    return packed


def unpack(blob: bytes, *, name: str = "the stored diagram") -> Any:
    """Return the document in *blob*; InvalidRequest names *name* if it is damaged."""
    decompressor = lz4.frame.LZ4FrameDecompressor()
    try:
        text = decompressor.decompress(blob, max_length=MAX_BYTES + 1)
    except (RuntimeError, EOFError) as error:
        raise InvalidRequest(f"{name} is damaged: {_reason(error)}") from None
    if len(text) > MAX_BYTES:
        raise TooLarge(f"{name} unpacks to more than {MAX_BYTES} bytes")
    if not decompressor.eof:
        raise InvalidRequest(f"{name} is damaged: its end is missing")
    if decompressor.unused_data:
        raise InvalidRequest(f"{name} is damaged: {len(decompressor.unused_data)} bytes follow its end")
    try:
        written = text.decode()
        check_values(written, field=name)
        return json.loads(written)
    except (ValueError, RecursionError):
        raise InvalidRequest(f"{name} is damaged: it does not hold JSON") from None


def unpacked_size(blob: bytes) -> int:
    """Return the bytes of JSON that the header of *blob* claims; more than the limit if it claims nothing."""
    try:
        return int(lz4.frame.get_frame_info(blob)["content_size"]) or MAX_BYTES + 1
    except RuntimeError:
        return MAX_BYTES + 1


def _reason(error: Exception) -> str:
    return "it is not an LZ4 frame" if "ERROR_frameType" in str(error) else "its LZ4 frame cannot be read"
