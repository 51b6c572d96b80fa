"""The metadata digest of RFC-78: what CheckMetadataHash signs, so that a signer can trust what it
is shown.

The types that an extrinsic can hold are written one to a leaf, an enum's variants one to a leaf
each; the root of their BLAKE3 tree, the shape of an extrinsic, and what is shown of the chain
(name, version, address prefix, symbol and decimals) are hashed together.  Layouts and numbers:
polkadot-fellows/RFCs, text 0078, "Merkleized Metadata".
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.runtime.scale import encode_compact

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.runtime.type_table import TypeTable

#: The oldest version of metadata that tells the digest.
OLDEST = 15

#: A reference to one of these is its place in this list; a compact's follows, Void and "by id" come
#: last.
_PRIMITIVES = (
    "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "u256", "i8", "i16", "i32", "i64",
        "i128", "i256",
)  # fmt: skip
_COMPACTS = ("u8", "u16", "u32", "u64", "u128", "u256")
_VOID = bytes([len(_PRIMITIVES) + len(_COMPACTS)])
_BY_ID = bytes([_VOID[0] + 1])
_COMPOSITE, _ENUMERATION, _SEQUENCE, _ARRAY, _TUPLE, _BITS = (bytes([kind]) for kind in range(6))
_STORES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


def metadata_digest(
    table: "RuntimeTable", *, ss58_prefix: int, decimals: int, symbol: str
) -> bytes:
    """Return the 32 bytes that a runtime compares with what was signed under CheckMetadataHash.

    *decimals* and *symbol* are those of the chain's native asset, as the runtime was built with
    them: a node does not tell whether they fit, it refuses the signature.  InvalidRequest for
    metadata of version 14: its types may stand in another order than in the later ones, from which
    runtimes take their digest.
    """
    from blake3 import blake3

    if table.metadata_version < OLDEST:
        raise InvalidRequest(
            field="metadata_hash",
            problem=(
                f"cannot be computed for {table}: its metadata has version {table.metadata_version}"
            ),
            expected=f"{OLDEST} or newer",
        )
    if not (0 <= decimals < 2**8 and 0 <= ss58_prefix < 2**16):
        raise InvalidRequest(
            field="metadata_hash",
            problem=(
                f"cannot be computed with the address prefix {shorten(ss58_prefix)} and "
                f"{shorten(decimals)} decimals"
            ),
            expected="a prefix below 65536 and fewer than 256 decimals",
        )

    def hash_of(data: bytes) -> bytes:
        return blake3(data).digest()

    types = table.types
    extensions = table.extensions
    parts = (table.address_type, table.call_type, table.signature_type)
    of_extensions = [
        part for each in extensions for part in (each.type_id, each.additional_type_id)
    ]
    encoder = _TypeEncoder(types, accessible_types(types, (*parts, *of_extensions)))
    # If a runtime takes several versions, the digest is of the oldest: the one that is signed so.
    extrinsic = [
        bytes([min(table.extrinsic_versions)]),
        *map(encoder.reference, parts),
        encode_compact(len(extensions)),
    ]
    for each in extensions:
        extrinsic += [
            _text(each.identifier),
            encoder.reference(each.type_id),
            encoder.reference(each.additional_type_id),
        ]
    digest = [
        b"\x01",  # version 1 of the digest
        _root([hash_of(leaf) for leaf in encoder.leaves()], hash_of),
        hash_of(b"".join(extrinsic)),
        table.spec_version.to_bytes(4, "little"),
        _text(table.spec_name),
        ss58_prefix.to_bytes(2, "little"),
        bytes([decimals]),
        _text(symbol),
    ]
    return hash_of(b"".join(digest))


def has_digest(table: "RuntimeTable") -> bool:
    """Tell whether the runtime takes a metadata digest, and its metadata is new enough to compute
    it from."""
    return table.metadata_version >= OLDEST and any(
        extension.identifier == "CheckMetadataHash" for extension in table.extensions
    )


def accessible_types(types: "TypeTable", start: Iterable[int]) -> set[int]:
    """Return the ids of all types that values of the types *start* can hold; not what is inside a
    compact or bits."""
    found: set[int] = set()
    waiting = list(start)
    while waiting:
        type_id = waiting.pop()
        if type_id in found:
            continue
        found.add(type_id)
        if types[type_id][2] != "compact":
            waiting.extend(types.parts(type_id))
    return found


class _TypeEncoder:
    """Writes types and references to them; a type's new id is its place among those that have
    leaves."""

    def __init__(self, types: "TypeTable", accessible: set[int]) -> None:
        self._types = types
        self._ids: Mapping[int, int] = {
            type_id: place
            for place, type_id in enumerate(filter(self._has_leaves, sorted(accessible)))
        }
        self._references: dict[int, bytes] = {}

    def leaves(self) -> Iterable[bytes]:
        """Return every type, those of an enum by the index of the variant, in the order of their
        new ids."""
        for type_id, new_id in self._ids.items():
            path, _, kind, definition = self._types[type_id]
            parts = path.split("::") if path else []
            head = encode_compact(len(parts)) + b"".join(map(_text, parts))
            tail = encode_compact(new_id)
            if kind != "variant":
                yield head + self._definition(kind, definition) + tail
                continue
            for name, index, fields in sorted(definition, key=_index_of):
                yield (
                    head
                    + _ENUMERATION
                    + _text(name)
                    + self._fields(fields)
                    + encode_compact(index)
                    + tail
                )

    def reference(self, type_id: int) -> bytes:
        """Return what stands for a type where another one holds it."""
        known = self._references.get(type_id)
        if known is None:
            known = self._references[type_id] = self._refer(type_id)
        return known

    def _refer(self, type_id: int) -> bytes:
        _, _, kind, definition = self._types[type_id]
        if kind == "primitive":
            return bytes([_PRIMITIVES.index(definition)])
        if kind == "compact":
            try:
                _, inner = self._types.inside_compact(definition)
            except InvalidRequest as error:
                problem = f"cannot be computed: {error}"
                raise InvalidRequest(field="metadata_hash", problem=problem) from None
            return bytes([len(_PRIMITIVES) + _COMPACTS.index(inner)]) if inner else _VOID
        if not self._has_leaves(type_id):
            return _VOID
        return _BY_ID + encode_compact(self._ids[type_id])

    def _has_leaves(self, type_id: int) -> bool:
        _, _, kind, definition = self._types[type_id]
        if kind in ("composite", "variant", "tuple"):
            return bool(definition)
        return kind not in ("primitive", "compact")

    def _definition(self, kind: str, definition: Any) -> bytes:
        if kind == "composite":
            return _COMPOSITE + self._fields(definition)
        if kind == "sequence":
            return _SEQUENCE + self.reference(definition)
        if kind == "array":
            return _ARRAY + int(definition[0]).to_bytes(4, "little") + self.reference(definition[1])
        if kind == "tuple":
            return (
                _TUPLE + encode_compact(len(definition)) + b"".join(map(self.reference, definition))
            )
        store, order = (self._types[inner] for inner in definition)
        order_name = order[0].rpartition("::")[2]
        if store[3] not in _STORES or order_name not in ("Lsb0", "Msb0"):
            raise InvalidRequest(
                field="metadata_hash",
                problem=(
                    "cannot be computed: the runtime has bits in "
                    f"{self._types.name(definition[0])} in the order "
                    f"{self._types.name(definition[1])}"
                ),
                expected="u8 to u64 in the order Lsb0 or Msb0",
            )
        return _BITS + bytes([_STORES[store[3]], order_name == "Lsb0"])

    def _fields(self, fields: list[Any]) -> bytes:
        return encode_compact(len(fields)) + b"".join(
            _optional(name) + self.reference(type_id) + _optional(type_name)
            for name, type_id, type_name in fields
        )


def _root(hashes: list[bytes], hash_of: Callable[[bytes], bytes]) -> bytes:
    """Return the root of the complete binary tree whose last nodes are *hashes*; zeros for none.

    Paired from the back, as every implementation does: the pseudocode of RFC-78 pairs from the
    front, which is another tree wherever the leaves are no power of two.
    """
    nodes = deque(hashes)
    while len(nodes) > 1:
        right, left = nodes.pop(), nodes.pop()
        nodes.appendleft(hash_of(left + right))
    return nodes[0] if nodes else bytes(32)


def _index_of(variant: list[Any]) -> int:
    return int(variant[1])


def _optional(text: str | None) -> bytes:
    return b"\0" if text is None else b"\1" + _text(text)


def _text(text: str) -> bytes:
    data = text.encode()
    return encode_compact(len(data)) + data
