"""Diagrams as others keep them, and as stores do.

The web editor's share format is standard base64 of a zlib stream of the diagram's JSON, and the original API keeps a file of
those: `{"urls": [{"shortUrl": id, "longUrl": share string}, …]}`.  A store has compact JSON in an LZ4 frame, readable with
`lz4.frame.decompress`.
"""

import binascii
import json
import re
import zlib
from string import whitespace
from typing import Any, NamedTuple

import lz4.frame

from scenarioctl.errors import InvalidRequest, ScenarioctlError, TooLarge, shorten
from scenarioctl.formats.documents import MAX_BYTES, canonical_json, check_values, parse_json, write_json


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


class BagpipesScenario(NamedTuple):
    """One scenario of the file, unchecked."""

    #: Its place in the file, for error messages: `urls[3]`.
    place: str
    id: Any
    #: Its share string, if the entry is valid.
    share: Any


def read_bagpipes_store(text: str, *, limit: int) -> tuple[BagpipesScenario, ...] | None:
    """Return the entries of the file in *text*; None if it is something else."""
    if '"urls"' not in text[:4096] or not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    try:
        document = parse_json(text, field="source", limit=limit)
    except ScenarioctlError:
        # Reading it as a diagram reports what is wrong.
        return None
    if not isinstance(document, dict) or "nodes" in document or not isinstance(document.get("urls"), list):
        return None
    return tuple(_read_entry(entry, f"urls[{number}]") for number, entry in enumerate(document["urls"]))


def _read_entry(entry: Any, place: str) -> BagpipesScenario:
    if not isinstance(entry, dict):
        return BagpipesScenario(place, None, None)
    share = entry.get("longUrl")
    if isinstance(share, dict):
        # Old versions of the API kept the whole request body.
        share = share.get("url")
    return BagpipesScenario(place, entry.get("shortUrl"), share)


#: Base64 of the largest document if it does not compress, and some white space.
_MAX_TEXT = MAX_BYTES * 3 // 2

_BASE64 = re.compile(r"[A-Za-z0-9+/]+", re.ASCII)
_SCENARIO_ID = re.compile(r"[A-Za-z0-9_!@#$*+?-]{1,32}", re.ASCII)
_FROM_URLSAFE = str.maketrans("-_", "+/")
_PARAMETER = "diagramData="
#: Characters of base64 that a link may have percent-encoded.
_ENCODED = {f"%{ord(sign):02X}": sign for sign in "+/=-_"}


def read_share(text: str, *, field: str = "url") -> Any:
    """Return the document in *text*: a share string, however padded or broken into lines, or a link with one."""
    if len(text) > _MAX_TEXT:
        raise TooLarge(field=field, problem=f"is longer than {_MAX_TEXT} characters")
    packed = _parameter_of(text)
    # Not split: it makes an object of each word.
    for space in whitespace:
        packed = packed.replace(space, "")
    if not packed:
        raise InvalidRequest(field=field, problem="is empty", expected="the base64 share string of a diagram")
    if packed != text and _SCENARIO_ID.fullmatch(packed) and _PARAMETER in text:
        raise InvalidRequest(
            field=field,
            problem=f"is a link to the stored scenario {shorten(packed)}",
            expected="one that holds the diagram itself",
        )
    packed = packed.rstrip("=").translate(_FROM_URLSAFE)
    if not _BASE64.fullmatch(packed) or len(packed) % 4 == 1:
        raise InvalidRequest(
            field=field, value=text, problem="is not base64", expected="the share string of a diagram"
        )
    stream = binascii.a2b_base64(packed + "=" * (-len(packed) % 4))
    inflater = zlib.decompressobj()
    try:
        document = inflater.decompress(stream, MAX_BYTES + 1)
    except zlib.error:
        raise InvalidRequest(
            field=field,
            value=text,
            problem="contains no zlib stream",
            expected="the share string of a diagram",
        ) from None
    if len(document) > MAX_BYTES:
        raise TooLarge(field=field, problem=f"unpacks to more than {MAX_BYTES} bytes")
    if not inflater.eof:
        raise InvalidRequest(
            field=field, value=text, problem="is truncated", expected="the whole share string"
        )
    if inflater.unused_data:
        raise InvalidRequest(
            field=field,
            problem=f"has {len(inflater.unused_data)} bytes after the diagram's end",
            expected="none",
        )
    return parse_json(document, field=field)


def write_share(document: object) -> str:
    """Return *document* as the editor's own share string, padded standard base64."""
    text = write_json(document)
    if len(text) > MAX_BYTES:
        raise TooLarge(f"the diagram is {len(text)} bytes of JSON, the limit is {MAX_BYTES}")
    return binascii.b2a_base64(zlib.compress(text), newline=False).decode()


def read_import(text: str | bytes, *, field: str = "diagram") -> Any:
    """Return the document in *text*, be it the diagram's JSON, its share string or a link with one."""
    start = text[:256].lstrip()
    if isinstance(text, bytes):
        if start[:3] == b"\xef\xbb\xbf" or start[:1] in (b"{", b"[", b'"'):
            return parse_json(text, field=field)
        if len(text) > _MAX_TEXT:
            raise TooLarge(field=field, problem=f"is longer than {_MAX_TEXT} characters")
        try:
            text = text.decode()
        except UnicodeDecodeError:
            raise InvalidRequest(
                field=field, problem="is neither JSON nor a share string: it is not text"
            ) from None
    elif start[:1] in ("{", "[", '"', "\ufeff"):
        return parse_json(text, field=field)
    return read_share(text, field=field)


def _parameter_of(text: str) -> str:
    _, found, value = text.partition(_PARAMETER)
    if not found:
        return text
    for end in ("&", "#"):
        value = value.partition(end)[0]
    # Not unquote: it makes an object of each character that is encoded, 80 times its size.
    for encoded, sign in _ENCODED.items():
        value = value.replace(encoded, sign).replace(encoded.lower(), sign)
    return value
