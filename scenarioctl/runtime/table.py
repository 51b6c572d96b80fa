"""RuntimeTable: all that scenarioctl knows of one version of a chain's runtime; `cache.py` keeps
those of connected chains.

A table's file is JSON, one type, pallet or runtime API to a line, so that two versions can be
compared by eye. Nothing but the first line is parsed before it is asked for: one call needs a
twentieth of it.

    {"format":1, "spec_name":…, …, "pallets":[[name, index, type of its calls or null], …],
    "lines":[types, pallets, apis], "types":[                       rows as in
    `runtime/type_table.py` ],"pallets":[                   {"name", "storage":[prefix, entries],
    "constants", "event", "error", …} ],"apis":[                      {"name", "methods":[[name,
    [[parameter, type id], …], output type id], …]} ],"checksum":"…"}               CRC-32 of all
    before the last line

To bundle another runtime: a row in `tools/bundle_runtimes.py`, and its names in `BUNDLED`.
"""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.calls import Call
from scenarioctl.runtime.codec import Codec, invalid
from scenarioctl.runtime.scale import CallInput, Decoder, Encoder, Refusal
from scenarioctl.runtime.type_table import TypeTable, find_name, listed

if TYPE_CHECKING:
    from scenarioctl.runtime.type_table import ApiMethod, Extension, Field, StorageEntry

FORMAT = 1

#: The bundled tables, by chain literal, with the spec name that each runtime gives itself.
BUNDLED = {
    "polkadot": "polkadot",
    "assetHub": "statemint",
    "hydraDx": "hydradx",
    "kusama": "kusama",
    "assetHub_kusama": "statemine",
    "assetHub_paseo": "asset-hub-paseo",
}

#: Tables already loaded in this process, by chain literal.
_loaded: dict[str, "RuntimeTable"] = {}


class RuntimeTable:
    """A runtime's calls, storage, constants, runtime APIs, signed extensions and types."""

    def __init__(
        self, header: dict[str, Any], types: TypeTable, pallets: list[Any], apis: list[Any]
    ) -> None:
        """Take the parts of a table's file; rows of *pallets* and *apis* may still be JSON text."""
        self.spec_name: str = header["spec_name"]
        self.spec_version: int = header["spec_version"]
        self.transaction_version: int = header["transaction_version"]
        self.metadata_version: int = header["metadata_version"]
        self.extrinsic_versions: tuple[int, ...] = tuple(header["extrinsic"]["versions"])
        #: Digest of the one endpoint that gave it, of which nobody else has confirmed it; empty for
        #: a table to rely on.
        self.told_by = ""
        #: When its file in the cache was written, in seconds since 1970; None for one that came
        #: from nowhere else.
        self.written: float | None = None
        self.types = types
        self.codec = Codec(types)
        self._header = header
        self._pallets = pallets
        self._apis = apis
        #: name -> (place among the pallets, index in calls, type of its calls or None)
        self._places: dict[str, tuple[int, int, int | None]] = {
            name: (place, index, calls)
            for place, (name, index, calls) in enumerate(header["pallets"])
        }
        self._call_encoders: dict[tuple[str, str], Encoder] = {}
        self._call_fields: dict[tuple[str, str], tuple[Field, ...]] = {}
        self._call_decoders: dict[tuple[int, int], tuple[str, str, Decoder]] = {}

    def __repr__(self) -> str:
        return f"<RuntimeTable {self}>"

    def __str__(self) -> str:
        return f"{self.spec_name} {self.spec_version}"

    @property
    def age(self) -> float:
        """Seconds since its file in the cache was written; 0 for one that has none."""
        return 0.0 if self.written is None else time.time() - self.written

    # Calls

    def encode_call(self, call: Call) -> bytes:
        """Return *call* as bytes: pallet index, call index, arguments.

        InvalidRequest names the pallet, method or argument that this runtime does not take.
        """
        try:
            encode = self._call_encoders.get((call.pallet, call.method))
            if encode is None:
                encode = self._compile_call(call.pallet, call.method)
            return encode(call.args, 0)
        except (Refusal, RecursionError) as problem:
            raise invalid(problem, f"{call.pallet}.{call.method}: ") from None

    def decode_call(self, data: bytes) -> Call:
        """Return the call that *data* is, all of it."""
        call, end = self.decode_call_at(data, 0)
        if end != len(data):
            raise InvalidRequest(
                f"{call.pallet}.{call.method}: {len(data) - end} extra bytes after its arguments"
            )
        return call

    def decode_call_at(self, data: bytes, start: int) -> tuple[Call, int]:
        """Return the call that begins at *start* and where it ends."""
        key = tuple(data[start : start + 2])
        if len(key) != 2:
            raise InvalidRequest(
                f"{shorten(data)} is too short for a call, which begins with a pallet and a method"
            )
        known = self._call_decoders.get(key)
        if known is None:
            known = self._compile_call_decoder(*key)
        pallet, method, decode = known
        try:
            args, end = decode(CallInput(data), start + 2, 0)
        except (Refusal, RecursionError) as problem:
            raise invalid(problem, f"{pallet}.{method}: ") from None
        return Call(pallet=pallet, method=method, args=args or {}), end

    def has_call(self, pallet: str, method: str) -> bool:
        """Tell whether this runtime has the call, spelled exactly so."""
        known = self._places.get(pallet)
        return (
            known is not None and known[2] is not None and method in self.types.variants(known[2])
        )

    def call_fields(self, pallet: str, method: str) -> "tuple[Field, ...]":
        """Return the arguments of a call in their order."""
        known = self._call_fields.get((pallet, method))
        if known is None:
            from scenarioctl.runtime.type_table import Field

            known = self._call_fields[pallet, method] = tuple(
                Field(name=name, type_id=type_id, type_name=type_name or "")
                for name, type_id, type_name in self._variant_of(pallet, method)[2]
            )
        return known

    def methods(self, pallet: str) -> tuple[str, ...]:
        """Return the names of the calls of *pallet*."""
        calls = self._place_of(pallet)[2]
        return () if calls is None else self.types.variants(calls)

    @property
    def pallets(self) -> tuple[str, ...]:
        """The names of all pallets."""
        return tuple(self._places)

    def pallet_indices(self) -> dict[str, int]:
        """Return the index of each pallet in calls, events and errors."""
        return {name: index for name, (_, index, _) in self._places.items()}

    # Names as people type them

    def find_pallet(self, name: object) -> str:
        """Return the pallet's own spelling of *name*, which may differ in case, `_` and `-`."""
        return find_name(name, self.pallets, what="pallet", where=str(self))

    def find_call(self, pallet: object, method: object) -> tuple[str, str]:
        """Return the runtime's own spelling of a pallet and a method."""
        found = self.find_pallet(pallet)
        return found, find_name(
            method, self.methods(found), what="method", where=f"{found} of {self}"
        )

    # Storage, constants, runtime APIs

    def constant(self, pallet: object, name: object) -> Any:
        """Return the value of a constant; names as people type them."""
        return self.constant_value(pallet, name)[1]

    def constant_value(self, pallet: object, name: object) -> tuple[int, Any]:
        """Return the type and the value of a constant; names as people type them."""
        found = self.find_pallet(pallet)
        constants = {row[0]: row for row in self._pallet(found)["constants"]}
        _, type_id, value = constants[
            find_name(name, constants, what="constant", where=f"{found} of {self}")
        ]
        return type_id, self.decode(type_id, bytes.fromhex(value))

    def constants(self, pallet: object) -> tuple[str, ...]:
        """Return the names of the constants of *pallet*."""
        return tuple(row[0] for row in self._pallet(self.find_pallet(pallet))["constants"])

    def storage_entry(self, pallet: object, name: object) -> "StorageEntry":
        """Return how a storage item is found and read; names as people type them."""
        from scenarioctl.runtime.type_table import StorageEntry

        found = self.find_pallet(pallet)
        prefix, entries = self._pallet(found)["storage"] or ("", [])
        rows = {row[0]: row for row in entries}
        item, modifier, hashers, key, value, default = rows[
            find_name(name, rows, what="storage item", where=f"{found} of {self}")
        ]
        return StorageEntry(
            pallet=found,
            prefix=prefix,
            name=item,
            modifier=modifier,
            hashers=tuple(hashers),
            key_types=self._key_types(hashers, key),
            value_type=value,
            default=bytes.fromhex(default),
        )

    def storage_entries(self, pallet: object) -> tuple[str, ...]:
        """Return the names of the storage items of *pallet*."""
        return tuple(
            row[0] for row in (self._pallet(self.find_pallet(pallet))["storage"] or ("", []))[1]
        )

    @property
    def apis(self) -> tuple[str, ...]:
        """The names of the runtime APIs; none where the metadata is of version 14, which does not
        tell."""
        return tuple(self._api(place)["name"] for place in range(len(self._apis)))

    def api_method(self, api: object, method: object) -> "ApiMethod":
        """Return the inputs and the output of one runtime API method; names as people type them."""
        from scenarioctl.runtime.type_table import ApiMethod, Field

        names = self.apis
        found = find_name(api, names, what="runtime API", where=str(self))
        methods = {row[0]: row for row in self._api(names.index(found))["methods"]}
        name, inputs, output = methods[
            find_name(method, methods, what="method", where=f"{found} of {self}")
        ]
        return ApiMethod(
            api=found,
            name=name,
            inputs=tuple(Field(name=inner, type_id=type_id) for inner, type_id in inputs),
            output_type=output,
        )

    def api_methods(self, api: object) -> tuple[str, ...]:
        """Return the names of the methods of a runtime API."""
        names = self.apis
        place = names.index(find_name(api, names, what="runtime API", where=str(self)))
        return tuple(row[0] for row in self._api(place)["methods"])

    def module_error(self, index: int, error: bytes) -> tuple[str, Any]:
        """Return the pallet with this index, and its error that *error* begins with: a name, or
        `{name: fields}`.

        The error is None where this runtime has none such.
        """
        for pallet, (_, known, _) in self._places.items():
            if known == index:
                error_type = self._pallet(pallet)["error"]
                if error_type is None:
                    return pallet, None
                try:
                    return pallet, self.decode_at(error_type, error, 0)[0]
                except InvalidRequest:
                    return pallet, None
        return f"pallet {index}", None

    # Extrinsics

    @property
    def extensions(self) -> "tuple[Extension, ...]":
        """The signed extensions, in the order in which they stand in an extrinsic."""
        from scenarioctl.runtime.type_table import Extension

        return tuple(
            Extension(identifier=identifier, type_id=type_id, additional_type_id=additional)
            for identifier, type_id, additional in self._header["extrinsic"]["extensions"]
        )

    @property
    def address_type(self) -> int:
        """The type of an extrinsic's signer."""
        return self._extrinsic_type("address")

    @property
    def signature_type(self) -> int:
        """The type of an extrinsic's signature."""
        return self._extrinsic_type("signature")

    @property
    def call_type(self) -> int:
        """The type RuntimeCall."""
        return self._extrinsic_type("call")

    # Types

    def encode(self, type_id: int, value: object) -> bytes:
        """Return *value* as SCALE; InvalidRequest naming the place that does not fit."""
        return self.codec.encode(type_id, value)

    def decode(self, type_id: int, data: bytes) -> Any:
        """Return the value that all of *data* is."""
        return self.codec.decode(type_id, data)

    def decode_at(self, type_id: int, data: bytes, start: int) -> tuple[Any, int]:
        """Return the value that begins at *start* and where it ends."""
        return self.codec.decode_at(type_id, data, start)

    def type_name(self, type_id: int) -> str:
        """Return a type as people write it: `Option<AccountId32>`, `Vec<(u32, u128)>`."""
        return self.types.name(type_id)

    # Files

    def dump(self) -> bytes:
        """Return the table as its file; equal tables give equal bytes."""
        header = {"format": FORMAT, **self._header}
        header["lines"] = [len(self.types), len(self._pallets), len(self._apis)]
        lines = [_line(header)[:-1] + ",", '"types":[']
        lines.extend(_rows([self.types[type_id] for type_id in range(len(self.types))]))
        lines.append('],"pallets":[')
        lines.extend(_rows([self._pallet(name) for name in self._places]))
        lines.append('],"apis":[')
        lines.extend(_rows([self._api(place) for place in range(len(self._apis))]))
        body = "\n".join(lines).encode() + b"\n"
        return body + _last_line(body)

    @classmethod
    def load(cls, data: bytes) -> "RuntimeTable":
        """Return the table that *data*, its file, holds; InvalidRequest if the file is damaged or
        of another format."""
        end = data.rfind(b"\n", 0, -1) + 1
        if not end or data[end:] != _last_line(data[:end]):
            raise InvalidRequest("the runtime table is damaged: its checksum does not match")
        lines = data.split(b"\n")
        header = json.loads(lines[0].removesuffix(b",") + b"}")
        if header.pop("format", None) != FORMAT:
            raise InvalidRequest(f"the runtime table has another format, expected format {FORMAT}")
        types, pallets, apis = header.pop("lines")
        begin = 2
        parts: list[list[Any]] = []
        for count in (types, pallets, apis):
            parts.append(list(lines[begin : begin + count]))
            begin += count + 1
        return cls(header, TypeTable(parts[0]), parts[1], parts[2])

    # Inside

    def _compile_call(self, pallet: str, method: str) -> Encoder:
        _, method_index, fields = self._variant_of(pallet, method)
        prefix = bytes((self._places[pallet][1], method_index))
        encode_fields = self.codec.fields(fields).encode

        def encode(args: Any, depth: int) -> bytes:
            return prefix + encode_fields(args, depth)

        self._call_encoders[pallet, method] = encode
        return encode

    def _compile_call_decoder(
        self, pallet_index: int, method_index: int
    ) -> tuple[str, str, Decoder]:
        for pallet, (_, index, calls) in self._places.items():
            if index != pallet_index or calls is None:
                continue
            for method, index_of_method, fields in self.types[calls][3]:
                if index_of_method == method_index:
                    try:
                        known = (pallet, method, self.codec.fields(fields).decode)
                    except (Refusal, RecursionError) as problem:
                        raise invalid(problem, f"{pallet}.{method}: ") from None
                    self._call_decoders[pallet_index, method_index] = known
                    return known
            raise InvalidRequest(
                f"0x{pallet_index:02x}{method_index:02x} is not a call of {self}: {pallet} "
                f"has no method {method_index}"
            )
        raise InvalidRequest(
            f"0x{pallet_index:02x}{method_index:02x} is not a call of {self}: no pallet "
            f"has the index {pallet_index}"
        )

    def _place_of(self, pallet: str) -> tuple[int, int, int | None]:
        known = self._places.get(pallet)
        if known is None:
            raise InvalidRequest(
                field="pallet",
                value=pallet,
                problem=f"is not in {self}",
                expected=f"one of: {listed(self.pallets)}",
            )
        return known

    def _variant_of(self, pallet: str, method: str) -> list[Any]:
        calls = self._place_of(pallet)[2]
        for variant in self.types[calls][3] if calls is not None else ():
            if variant[0] == method:
                return variant  # type: ignore[no-any-return]
        known = listed(self.methods(pallet)) or "none, it has no calls"
        raise InvalidRequest(
            field="method",
            value=method,
            problem=f"is not in {pallet} of {self}",
            expected=f"one of: {known}",
        )

    def _pallet(self, name: str) -> dict[str, Any]:
        return _parsed(self._pallets, self._place_of(name)[0])

    def _api(self, place: int) -> dict[str, Any]:
        return _parsed(self._apis, place)

    def _extrinsic_type(self, part: str) -> int:
        type_id = self._header["extrinsic"][part]
        if type_id is None:
            raise InvalidRequest(
                f"the metadata of {self} does not name the type of an extrinsic's {part}"
            )
        return int(type_id)

    def _key_types(self, hashers: list[str], key: int | None) -> tuple[int, ...]:
        if key is None:
            return ()
        if len(hashers) == 1:
            return (key,)
        _, _, kind, parts = self.types[key]
        if kind != "tuple" or len(parts) != len(hashers):
            raise InvalidRequest(
                f"the metadata of {self} gives a storage item {len(hashers)} hashers and a "
                "key of another form"
            )
        return tuple(parts)


def load_bundled(name: str) -> RuntimeTable | None:
    """Return the bundled table of a chain literal or spec name; None where there is none."""
    literal = (
        name
        if name in BUNDLED
        else next((key for key, spec in BUNDLED.items() if spec == name), None)
    )
    if literal is None:
        return None
    table = _loaded.get(literal)
    if table is None:
        data = (Path(__file__).parent / "bundled" / f"{literal}.json").read_bytes()
        table = _loaded[literal] = RuntimeTable.load(data)
    return table


def _parsed(rows: list[Any], place: int) -> dict[str, Any]:
    row = rows[place]
    if type(row) is bytes:
        row = rows[place] = json.loads(row.removesuffix(b","))
    return row  # type: ignore[no-any-return]


def _line(row: Any) -> str:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False)


def _rows(rows: list[Any]) -> list[str]:
    return [f"{_line(row)}," for row in rows[:-1]] + [_line(row) for row in rows[-1:]]


def _last_line(body: bytes) -> bytes:
    return f'],"checksum":"{crc32(body):08x}"}}\n'.encode()
