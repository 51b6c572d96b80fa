"""Reads a runtime's SCALE metadata, versions 14, 15 and 16, into a RuntimeTable.

A node serves about half a megabyte, most of it documentation.  Documentation is stepped over;
names, ids and everything that gives or explains a byte is kept.  The reader knows every field of
the three versions and ends exactly at the end, so that nothing is left unexplained.

A file of metadata is checked against the runtime that its user says it is of.

To add a version: name it in `VERSIONS` and read what it adds where the others' parts are read.
"""

from typing import Any

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import from_hex
from scenarioctl.runtime.codec import Codec
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.type_table import TypeTable

#: The metadata versions that can be read, the best first: what to ask a node for.
VERSIONS = (16, 15, 14)

#: Bytes of the largest metadata that is read: seven times those of the largest runtime bundled.
MAX_BYTES = 4 * 1024 * 1024
#: Characters of the name that a runtime gives itself.
_NAME_LENGTH = 100
_MAGIC = b"meta"
_PRIMITIVES = (
    "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "u256", "i8", "i16", "i32", "i64",
        "i128", "i256",
)  # fmt: skip
_KINDS = ("composite", "variant", "sequence", "array", "tuple", "primitive", "compact", "bits")
_HASHERS = (
    "Blake2_128",
    "Blake2_256",
    "Blake2_128Concat",
    "Twox128",
    "Twox256",
    "Twox64Concat",
    "Identity",
)
_MODIFIERS = ("Optional", "Default", "Required")


class MetadataError(InvalidRequest):
    """These bytes are not metadata that this program can read."""


def read_metadata(data: bytes) -> RuntimeTable:
    """Return the table of the runtime whose metadata *data* is.

    Takes what `state_getMetadata` and `Metadata_metadata_at_version` answer, with or without the
    wrapping; MetadataError says what is wrong with other bytes.
    """
    if len(data) > MAX_BYTES:
        raise MetadataError(f"the metadata has {len(data)} bytes, the limit is {MAX_BYTES}")
    reader = _MetadataReader(unwrap_metadata(data))
    try:
        reader.read()
    except (IndexError, UnicodeDecodeError):
        raise MetadataError(
            f"the metadata is truncated or damaged, {len(data)} bytes were given"
        ) from None
    return reader.table()


def unwrap_metadata(data: bytes) -> bytes:
    """Return the metadata without the Option and the length that a runtime call puts before it."""
    data = bytes(data)
    if data.startswith(_MAGIC):
        return data
    if data == b"\x00":
        raise MetadataError(
            "the runtime does not serve this version of its metadata, expected 14, 15 or 16"
        )
    for start in (1, 0) if data.startswith(b"\x01") else (0,):
        try:
            length, begin = _compact(data, start)
        except IndexError:
            continue
        if data.startswith(_MAGIC, begin):
            if begin + length != len(data):
                raise MetadataError(
                    f"the metadata has {len(data) - begin} bytes, its length says {length}"
                )
            return data[begin:]
    raise MetadataError(
        f"{shorten(data[:20])} is not the start of metadata, expected 0x6d657461 ('meta')"
    )


class _MetadataReader:
    """A walk over metadata, from its first byte to its last.

    An IndexError is the end met too early; a slice that would run over it leaves `at` behind the
    end, which shows at the latest when all is read.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = len(_MAGIC)
        self.version = 0
        self.types: list[Any] = []
        self.pallets: list[dict[str, Any]] = []
        self.extrinsic: dict[str, Any] = {}
        self.apis: list[dict[str, Any]] = []

    def read(self) -> None:
        self.version = self.byte()
        if self.version not in VERSIONS:
            raise MetadataError(
                f"metadata of version {self.version} cannot be read, expected 14, 15 or 16"
            )
        self.read_types()
        self.pallets = [self.pallet() for _ in range(self.compact())]
        self.read_extrinsic()
        if self.version < 16:
            self.compact()  # the type Runtime, which nothing refers to
        if self.version > 14:
            self.apis = [self.api() for _ in range(self.compact())]
            self.extrinsic["event"] = [self.compact() for _ in range(3)][1]
            self.read_custom()
        if self.at != len(self.data):
            raise MetadataError(
                f"the metadata has {len(self.data)} bytes, but its content ends after "
                f"{self.at}, so it is truncated or damaged"
            )

    def table(self) -> RuntimeTable:
        """Return what was read as a table; the runtime's own version stands in a constant."""
        types = TypeTable(self.types)
        constants = {
            (pallet["name"], constant[0]): constant
            for pallet in self.pallets
            for constant in pallet["constants"]
        }
        if ("System", "Version") not in constants:
            raise MetadataError(
                "the metadata has no constant System.Version, so its runtime is unknown"
            )
        _, type_id, value = constants["System", "Version"]
        version = Codec(types).decode(type_id, bytes.fromhex(value))
        try:
            name = str(version["spec_name"])
            numbers = [int(version[field]) for field in ("spec_version", "transaction_version")]
            header = {
                "spec_name": name,
                "spec_version": numbers[0],
                "transaction_version": numbers[1],
                "metadata_version": self.version,
                "extrinsic": self.extrinsic,
                "pallets": [
                    [pallet["name"], pallet.pop("index"), pallet.pop("calls")]
                    for pallet in self.pallets
                ],
            }
        except (TypeError, KeyError, ValueError):
            raise MetadataError(
                "the constant System.Version does not have the format of a runtime version"
            ) from None
        if len(name) > _NAME_LENGTH or not all(0 <= number < 2**32 for number in numbers):
            raise MetadataError("the constant System.Version has an invalid name or number")
        return RuntimeTable(header, types, self.pallets, self.apis)

    def read_types(self) -> None:
        for place in range(self.compact()):
            type_id = self.compact()
            if type_id != place:
                raise MetadataError(
                    f"type {type_id} is at position {place} of the metadata, so it is damaged"
                )
            path = "::".join(self.text() for _ in range(self.compact()))
            parameters = [self.type_parameter() for _ in range(self.compact())]
            kind = self.byte()
            if kind >= len(_KINDS):
                raise MetadataError(
                    f"type {type_id} of the metadata is of the unknown kind {kind}, so it "
                    "is damaged"
                )
            self.types.append([path, parameters, _KINDS[kind], self.definition(_KINDS[kind])])
            self.docs()

    def type_parameter(self) -> list[Any]:
        return [self.text(), self.compact() if self.present() else None]

    def definition(self, kind: str) -> Any:
        """Read what a type of this kind consists of, in the shape that `type_table.py`
        describes."""
        if kind == "composite":
            return [self.field() for _ in range(self.compact())]
        if kind == "variant":
            return [self.variant() for _ in range(self.compact())]
        if kind in ("sequence", "compact"):
            return self.compact()
        if kind == "array":
            return [int.from_bytes(self.take(4), "little"), self.compact()]
        if kind == "tuple":
            return [self.compact() for _ in range(self.compact())]
        if kind == "primitive":
            return _PRIMITIVES[self.byte()]
        return [self.compact(), self.compact()]

    def field(self) -> list[Any]:
        name = self.text() if self.present() else None
        type_id = self.compact()
        type_name = self.text() if self.present() else None
        self.docs()
        return [name, type_id, type_name]

    def variant(self) -> list[Any]:
        name = self.text()
        fields = [self.field() for _ in range(self.compact())]
        index = self.byte()
        self.docs()
        return [name, index, fields]

    def pallet(self) -> dict[str, Any]:
        pallet: dict[str, Any] = {"name": self.text()}
        pallet["storage"] = self.storage() if self.present() else None
        for part in ("calls", "event"):
            pallet[part] = self.outer_enum() if self.present() else None
        pallet["constants"] = [self.constant() for _ in range(self.compact())]
        pallet["error"] = self.outer_enum() if self.present() else None
        if self.version > 15:
            pallet["associated"] = [self.associated() for _ in range(self.compact())]
            pallet["views"] = [self.view() for _ in range(self.compact())]
        pallet["index"] = self.byte()
        if self.version > 14:
            self.docs()
        self.deprecation()
        return pallet

    def outer_enum(self) -> int:
        """Read a pallet's calls, events or errors: their type, and since V16 which of them are
        deprecated."""
        type_id = self.compact()
        if self.version > 15:
            for _ in range(self.compact()):
                self.byte()
                self.deprecation()
        return type_id

    def storage(self) -> list[Any]:
        prefix = self.text()
        return [prefix, [self.storage_entry() for _ in range(self.compact())]]

    def storage_entry(self) -> list[Any]:
        name = self.text()
        modifier = _MODIFIERS[self.byte()]
        hashers: list[str] = []
        key = None
        kind = self.byte()
        if kind == 1:
            hashers = [_HASHERS[self.byte()] for _ in range(self.compact())]
            key = self.compact()
        elif kind:
            raise MetadataError(
                f"storage {name} of the metadata is of the unknown kind {kind}, so it is damaged"
            )
        value = self.compact()
        default = self.bytes_text()
        self.docs()
        self.deprecation()
        return [name, modifier, hashers, key, value, default]

    def constant(self) -> list[Any]:
        constant = [self.text(), self.compact(), self.bytes_text()]
        self.docs()
        self.deprecation()
        return constant

    def associated(self) -> list[Any]:
        associated = [self.text(), self.compact()]
        self.docs()
        return associated

    def view(self) -> list[Any]:
        identifier = self.take(32).hex()
        view = [
            self.text(),
            identifier,
            [self.parameter() for _ in range(self.compact())],
            self.compact(),
        ]
        self.docs()
        self.deprecation()
        return view

    def parameter(self) -> list[Any]:
        return [self.text(), self.compact()]

    def read_extrinsic(self) -> None:
        extrinsic: dict[str, Any] = {}
        if self.version == 14:
            # Its one type tells the others by its parameters.
            parameters = dict(self.types[self.compact()][1])
            extrinsic["versions"] = [self.byte()]
            for part in ("Address", "Call", "Signature"):
                extrinsic[part.lower()] = parameters.get(part)
        else:
            count = self.compact() if self.version > 15 else 1
            extrinsic["versions"] = [self.byte() for _ in range(count)]
            for part in ("address", "call", "signature"):
                extrinsic[part] = self.compact()
            if self.version == 15:
                self.compact()  # the type of all extensions together
        used: dict[int, list[int]] = {}
        if self.version > 15:
            for _ in range(self.compact()):
                version = self.byte()
                used[version] = [self.compact() for _ in range(self.compact())]
        extensions = [[self.text(), self.compact(), self.compact()] for _ in range(self.compact())]
        # Signed extrinsics of version 4 carry the extensions of version 0.
        extrinsic["extensions"] = (
            [extensions[place] for place in used[0]] if 0 in used else extensions
        )
        self.extrinsic = extrinsic

    def api(self) -> dict[str, Any]:
        api: dict[str, Any] = {"name": self.text()}
        api["methods"] = [self.api_method() for _ in range(self.compact())]
        self.docs()
        if self.version > 15:
            api["version"] = self.compact()
            self.deprecation()
        return api

    def api_method(self) -> list[Any]:
        method = [self.text(), [self.parameter() for _ in range(self.compact())], self.compact()]
        self.docs()
        self.deprecation()
        return method

    def read_custom(self) -> None:
        for _ in range(self.compact()):
            self.text()
            self.compact()
            self.bytes_text()

    def deprecation(self) -> None:
        """Step over what V16 says of a deprecated thing: nothing, that it is, or a note and since
        when."""
        if self.version < 16:
            return
        kind = self.byte()
        if kind == 2:
            self.text()
            if self.present():
                self.text()
        elif kind > 2:
            raise MetadataError(
                f"the metadata has the unknown deprecation {kind}, so it is damaged"
            )

    def docs(self) -> None:
        self.at = _skip_texts(self.data, self.at)

    def byte(self) -> int:
        byte = self.data[self.at]
        self.at += 1
        return byte

    def present(self) -> bool:
        return self.byte() != 0

    def compact(self) -> int:
        number, self.at = _compact(self.data, self.at)
        return number

    def take(self, length: int) -> bytes:
        begin, self.at = self.at, self.at + length
        return self.data[begin : self.at]

    def text(self) -> str:
        return self.take(self.compact()).decode()

    def bytes_text(self) -> str:
        return self.take(self.compact()).hex()


def _compact(data: bytes, at: int) -> tuple[int, int]:
    """Return the compact at *at* and where it ends.  Lenient: metadata is not sent back to
    anyone."""
    first = data[at]
    mode = first & 3
    if mode == 0:
        return first >> 2, at + 1
    if mode == 1:
        return (first | data[at + 1] << 8) >> 2, at + 2
    if mode == 2:
        return int.from_bytes(data[at : at + 4], "little") >> 2, at + 4
    end = at + 5 + (first >> 2)
    return int.from_bytes(data[at + 1 : end], "little"), end


def _skip_texts(data: bytes, at: int) -> int:
    """Return where the list of texts at *at* ends."""
    count, at = _compact(data, at)
    for _ in range(count):
        length = data[at]
        mode = length & 3
        if mode == 0:
            at += 1 + (length >> 2)
        elif mode == 1:
            at += 2 + ((length | data[at + 1] << 8) >> 2)
        else:
            length, at = _compact(data, at)
            at += length
    return at


#: What a file of metadata may have, in bytes: as hex it has twice the metadata's.
FILE_LIMIT = 9 * 1024 * 1024


def read_metadata_file(data: bytes, *, chain: str, spec_name: str, expected: str) -> RuntimeTable:
    """Return the table of the metadata in a file: its bytes, or the same as 0x hex.

    *expected* is the runtime that the user declares, like `people-polkadot 2002002`; *spec_name* is
    what the runtime of
    *chain* is known to call itself, "" if it isn't known.  InvalidRequest if the file holds another
    runtime.
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
            problem=(
                f"is missing: the file is of {table}. If {chain} runs that, pass `runtime` "
                f"{str(table)!r}"
            ),
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
