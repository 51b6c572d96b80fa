"""A runtime table out of a file of metadata, checked against the runtime that its user says it is of."""

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.hexadecimal import from_hex
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable

#: What a file of metadata may have, in bytes: as hex it has twice the metadata's.
FILE_LIMIT = 9 * 1024 * 1024


def read_metadata_file(data: bytes, *, chain: str, spec_name: str, expected: str) -> RuntimeTable:
    """Return the table of the metadata in a file: its bytes, or the same as 0x hex.

    *expected* is the runtime that the user declares, like `people-polkadot 2002002`; *spec_name* is what the runtime of
    *chain* is known to call itself, "" if it isn't known.  InvalidRequest if the file holds another runtime.
    """
    table = read_metadata(_bytes_of(data))
    if spec_name and table.spec_name != spec_name:
        raise InvalidRequest(
            field="from",
            problem=f"is a file of {table}, but the runtime of {chain} is called {spec_name}",
            expected="a file of that runtime",
        )
    if not expected:
        raise InvalidRequest(
            field="runtime",
            problem=f"is missing: the file is of {table}. If {chain} runs that, pass --runtime {str(table)!r}",
        )
    if " ".join(expected.split()) != str(table):
        raise InvalidRequest(
            field="runtime",
            value=expected,
            problem=f"is not that of the file, which is {table}",
            expected="the same name and version",
        )
    return table


def _bytes_of(data: bytes) -> bytes:
    text = data.strip()
    if not text.startswith((b"0x", b"0X")):
        return data
    read = from_hex(text.decode("latin-1"))
    if read is None:
        raise InvalidRequest(
            field="from",
            problem="begins like 0x hex, but has other characters",
            expected="metadata as bytes or as 0x hex",
        )
    return read
