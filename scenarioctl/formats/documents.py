"""Read and write JSON within limits and without losing digits, CSV, and diagrams as others and
stores keep them.

The web editor's share format is standard base64 of a zlib stream of the diagram's JSON, and the
original API keeps a file of those: `{"urls": [{"shortUrl": id, "longUrl": share string}, …]}`.  A
store has compact JSON in an LZ4 frame, readable with `lz4.frame.decompress`.
"""

import binascii
import csv
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from string import whitespace
from typing import Any, NamedTuple

from scenarioctl.errors import BadJson, InvalidRequest, ScenarioctlError, TooLarge, shorten
from scenarioctl.model.amounts import MOST_DIGITS, read_json_number
from scenarioctl.model.diagram import MAX_DEPTH, check_depth

#: The largest document, in bytes of UTF-8.
MAX_BYTES = 16 * 1024 * 1024
#: The most commas and opening brackets in a document, which bound its values.  The largest diagram
#: seen has 400 values.
MAX_VALUES = 250_000
#: The most escaped characters: the parser is slow on them and holds the GIL.
MAX_ESCAPES = 2_000_000

_PLAIN = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_SORTED = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=True
)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
#: Characters that are counted at once; other threads run in between.
_PART = 1024 * 1024


def parse_json(text: str | bytes, *, field: str, limit: int = MAX_BYTES) -> Any:
    """Return the value that *text* holds, numbers exactly as written.

    Refused beside what is not JSON: NaN and infinities, a key given twice, a fraction with more
    digits than a double keeps, lone surrogates, nesting beyond `MAX_DEPTH`, more than *limit*
    bytes, `MAX_VALUES` values or `MAX_ESCAPES` escapes.
    """
    text = decode_text(text, field=field, limit=limit)
    check_values(text, field=field)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadJson(
            field=field,
            problem=(
                f"is not JSON: {_lower_first(error.msg)} (line {error.lineno}, column "
                f"{error.colno})"
            ),
        ) from None
    except ValueError as error:
        # Of a number or a key: the parser does not know the field's name.
        raise BadJson(field=field, problem=str(error)) from None
    except RecursionError:
        raise InvalidRequest(field=field, problem=f"nests deeper than {MAX_DEPTH} levels") from None
    if isinstance(value, (dict, list)):
        check_depth(value, field=field)
    if _SURROGATE_ESCAPE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise BadJson(
                field=field,
                problem="contains half of a surrogate pair",
                expected="whole characters",
            ) from None
    return value


def canonical_json(document: object) -> bytes:
    """Return *document* as canonical JSON: compact, keys sorted, UTF-8."""
    return _write(document, sort_keys=True)


def write_json(document: object) -> bytes:
    """Return *document* as compact JSON in UTF-8, keys in their own order."""
    return _write(document, sort_keys=False)


def decode_text(text: str | bytes, *, field: str, limit: int = MAX_BYTES) -> str:
    """Return *text* as characters; TooLarge above *limit* bytes, BadJson if it is not UTF-8."""
    if len(text) > limit:
        raise TooLarge(field=field, problem=f"is larger than {limit} bytes")
    try:
        if isinstance(text, bytes):
            text = text.decode()
        elif not text.isascii() and len(text.encode()) > limit:
            raise TooLarge(field=field, problem=f"is larger than {limit} bytes")
    except UnicodeError:
        raise BadJson(field=field, problem="is not UTF-8 text") from None
    # Editors on Windows write a byte order mark, which JSON does not allow.
    return text.removeprefix("\ufeff")


def check_values(text: str, *, field: str) -> None:
    """Raise TooLarge if *text* has too many values or escapes, which cost more to parse than their
    bytes suggest."""
    if len(text) <= MAX_VALUES:
        return
    parts = [(at, at + _PART) for at in range(0, len(text), _PART)]
    if sum(text.count("\\", *part) for part in parts) > MAX_ESCAPES:
        raise TooLarge(
            field=field,
            problem=(
                f"has more than {MAX_ESCAPES} characters written as escapes, write them as they are"
            ),
        )
    if sum(text.count(each, *part) for part in parts for each in ",[{") >= MAX_VALUES:
        raise TooLarge(field=field, problem=f"has more than {MAX_VALUES} commas and brackets")


def _write(document: object, *, sort_keys: bool) -> bytes:
    try:
        return (_SORTED if sort_keys else _PLAIN).encode(document).encode()
    except UnicodeEncodeError:
        raise InvalidRequest(
            "the document contains half of a surrogate pair, expected whole characters"
        ) from None
    except RecursionError:
        raise InvalidRequest("the document is nested too deeply to be written") from None
    except ValueError:
        raise InvalidRequest("the document contains a number that JSON cannot express") from None


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"contains the key {shorten(key)} twice in one object")
            seen.add(key)
    return found


def _read_int(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"contains a number of {len(text)} digits, the limit is {MOST_DIGITS}")
    return int(text)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"contains {name}, which is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_read_object,
    parse_int=_read_int,
    parse_float=read_json_number,
    parse_constant=_refuse_constant,
)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def pack(document: object) -> bytes:
    """Return *document* in its stored form; TooLarge above 16 MiB of JSON."""
    return pack_text(canonical_json(document))


def pack_text(text: bytes) -> bytes:
    """Return *text*, compact JSON, in its stored form; TooLarge above 16 MiB."""
    import lz4.frame

    if len(text) > MAX_BYTES:
        raise TooLarge(f"the diagram is {len(text)} bytes of JSON, the limit is {MAX_BYTES}")
    packed: bytes = lz4.frame.compress(text, content_checksum=True)
    return packed


def unpack(blob: bytes) -> Any:
    """Return the document in *blob*."""
    import lz4.frame

    try:
        return json.loads(lz4.frame.decompress(blob))
    except (RuntimeError, ValueError):
        raise InvalidRequest("the stored diagram cannot be read") from None


def unpacked_size(blob: bytes) -> int:
    """Return the bytes of JSON that the header of *blob* claims; 0 without one."""
    import lz4.frame

    try:
        return int(lz4.frame.get_frame_info(blob)["content_size"])
    except RuntimeError:
        return 0


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
    if (
        not isinstance(document, dict)
        or "nodes" in document
        or not isinstance(document.get("urls"), list)
    ):
        return None
    return tuple(
        _read_entry(entry, f"urls[{number}]") for number, entry in enumerate(document["urls"])
    )


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
    """Return the document in *text*: a share string, however padded or broken into lines, or a link
    with one."""
    if len(text) > _MAX_TEXT:
        raise TooLarge(field=field, problem=f"is longer than {_MAX_TEXT} characters")
    packed = _parameter_of(text)
    # Not split: it makes an object of each word.
    for space in whitespace:
        packed = packed.replace(space, "")
    if not packed:
        raise InvalidRequest(
            field=field, problem="is empty", expected="the base64 share string of a diagram"
        )
    if packed != text and _SCENARIO_ID.fullmatch(packed) and _PARAMETER in text:
        raise InvalidRequest(
            field=field,
            problem=f"is a link to the stored scenario {shorten(packed)}",
            expected="one that holds the diagram itself",
        )
    packed = packed.rstrip("=").translate(_FROM_URLSAFE)
    if not _BASE64.fullmatch(packed) or len(packed) % 4 == 1:
        raise InvalidRequest(
            field=field,
            value=text,
            problem="is not base64",
            expected="the share string of a diagram",
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
    """Return the document in *text*, be it the diagram's JSON, its share string or a link with
    one."""
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


#: What a cell begins with that a spreadsheet takes for a formula.
FORMULA = tuple("=+-@＝＋－＠")


def read_csv(text: str, *, field: str) -> Iterator[tuple[int, list[str]]]:
    """Give the line on which each row of *text* begins, from 1, and its cells without spaces around
    them.

    Empty lines are left out. InvalidRequest names the line on which the text is no CSV.
    """
    rows = csv.reader(
        io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True, skipinitialspace=True
    )
    while True:
        begins = rows.line_num + 1
        try:
            cells = [cell.strip() for cell in next(rows)]
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidRequest(
                field=field, problem=f": line {begins} is not CSV: {error}"
            ) from None
        if any(cells):
            yield begins, cells


def write_csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    # The dialect `excel` is that of RFC 4180: CRLF, and quotes where they are needed.
    csv.writer(text).writerows([_harmless(cell) for cell in line] for line in lines)
    return text.getvalue()


def _harmless(cell: str) -> str:
    """Return *cell* on one line, such that no spreadsheet takes it for a formula; a number stays
    one."""
    text = "".join(each if each.isprintable() else " " for each in cell).strip()
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", text, re.ASCII)
    return f"'{text}" if text.startswith(FORMULA) and not is_number else text
