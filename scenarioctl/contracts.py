"""The messages of an ink! contract, read from its metadata (ABI) of version 3, 4, 5 or 6, and
whether one is at an address.

Version 3 lies nested under `V3`, the later ones at the top with their number under `version`.  In
all of them the types are a list of `{id, type}`, and whatever has a type names it by that id.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert, field

from scenarioctl.errors import InvalidRequest, TooLarge, name_of

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client

#: The versions that can be read.
VERSIONS = (3, 4, 5, 6)

#: Nesting of types; no real contract exceeds it.
DEPTH_MAX = 32
#: The longest type that is printed; types that double at each step would fill the memory.
LENGTH_MAX = 1000
#: Characters of all arguments together: each of many thousands may have the longest type.
DESCRIPTION_MAX = 4 * 1024 * 1024

_PRIMITIVES = frozenset(
    ("bool", "char", *(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64, 128, 256)))
)
#: Written names that say less than the type itself.
_NOT_ALIASES = _PRIMITIVES | {
    *("Vec", "VecDeque", "BinaryHeap", "LinkedList", "BTreeMap", "BTreeSet", "Option", "Result"),
    *("Compact", "Box", "Rc", "Arc", "Cow", "String", "Self"),
}
_WIDELY_KNOWN = frozenset(("AccountId", "Balance", "Hash", "BlockNumber", "Timestamp"))

_Id = Annotated[int, Meta(ge=0, lt=2**32)]


class _Reference(Struct):
    """A type that another one holds, or that an argument has."""

    type: _Id
    len: _Id = 0
    display_name: Any = field(name="displayName", default=None)


class _Parameter(Struct):
    #: A parameter that no field uses has no type.
    type: _Id | None = None


class _Named(Struct):
    name: str


class _Definition(Struct):
    primitive: str | None = None
    tuple: list[_Id] | None = None
    sequence: _Reference | None = None
    compact: _Reference | None = None
    array: _Reference | None = None
    #: As Rust writes it and as polkadot.js does: the types of its store and of its order.
    bitsequence: dict[str, _Id] | None = None
    bit_sequence: dict[str, _Id] | None = field(name="bitSequence", default=None)
    composite: dict[str, list[_Reference] | None] | None = None
    variant: dict[str, list[_Named] | None] | None = None


class _Type(Struct):
    path: list[str] | None = None
    params: list[_Parameter] | None = None
    definition: _Definition | None = field(name="def", default=None)


class _Entry(Struct):
    id: _Id
    type: _Type


class _Argument(Struct):
    label: str
    type: _Reference


class _Message(Struct):
    label: str
    selector: str
    mutates: bool
    args: list[_Argument]


class _Spec(Struct):
    messages: Annotated[list[_Message], Meta(min_length=1)]


class _Metadata(Struct):
    spec: _Spec
    types: list[_Entry]


@dataclass(frozen=True, kw_only=True)
class ContractMessage:
    """A function that can be called on a contract."""

    #: As in the metadata: a trait's message is `PSP22::transfer`.
    function_name: str
    #: `0x` and four bytes in lower-case hex.
    selector: str
    mutates: bool
    #: Each `name: type`.
    args: tuple[str, ...]


def ink_version(abi: object) -> int:
    """Return the metadata version of *abi*; InvalidRequest where it is none of VERSIONS."""
    return _locate(abi)[0]


def describe_contract(abi: object) -> tuple[ContractMessage, ...]:
    """Return the messages of *abi* in its order; InvalidRequest names what is missing or wrong."""
    _, body, where = _locate(abi)
    try:
        metadata = convert(body, _Metadata)
    except ValidationError as error:
        raise InvalidRequest(
            field=where, problem=f"is not ink! metadata: {str(error).replace('$.', '')}"
        ) from None
    types = _Types(metadata.types)
    return tuple(
        _describe_message(message, f"{where} spec message {number}", types)
        for number, message in enumerate(metadata.spec.messages, start=1)
    )


def _locate(abi: object) -> tuple[int, dict[str, Any], str]:
    """Return the version, the object that holds spec and types, and how to call that in an
    error."""
    if not isinstance(abi, dict):
        problem = f"is {name_of(abi)}"
    elif "version" in abi:
        version = abi["version"]
        for known in VERSIONS[1:]:
            # Version 4 began its life as text.
            if version == str(known) or (version == known and type(version) is int):
                return known, abi, "abiJson"
        problem = f"version {name_of(version)} cannot be read"
    elif isinstance(abi.get("V3"), dict):
        return 3, abi["V3"], "abiJson V3"
    else:
        keys = [key for key in abi if re.fullmatch(r"V\d{1,4}|metadataVersion", str(key), re.ASCII)]
        problem = f"{keys[0]} {name_of(abi[keys[0]])} cannot be read" if keys else "has no version"
    expected = "ink! metadata version 3 (under V3), 4, 5 or 6"
    raise InvalidRequest(field="abiJson", problem=problem, expected=expected)


def _describe_message(message: _Message, where: str, types: "_Types") -> ContractMessage:
    where = f"{where} {name_of(message.label)}"
    for label in (message.label, *(arg.label for arg in message.args)):
        if not label or not label.isprintable():
            raise InvalidRequest(field=where, problem=f"label {name_of(label)} is not a name")
    if not re.fullmatch("0x[0-9a-fA-F]{8}", message.selector, re.ASCII):
        raise InvalidRequest(
            field=where,
            problem=f"selector {name_of(message.selector)} is not four bytes of hex",
            expected="one like 0x633aa551",
        )
    return ContractMessage(
        function_name=message.label,
        selector=message.selector.lower(),
        mutates=message.mutates,
        args=tuple(types.describe(arg, where) for arg in message.args),
    )


class _Types:
    """The registry of types, and the names that the contract's author wrote for them."""

    def __init__(self, entries: list[_Entry]) -> None:
        self._types = {entry.id: entry.type for entry in entries}
        self._printed: dict[int, str] = {}
        self._room = DESCRIPTION_MAX

    def describe(self, arg: _Argument, where: str) -> str:
        """Return name and type of an argument: the type as its author wrote it where that says as
        much, else as it is."""
        # The type is looked at in any case: an id that leads nowhere is an error, whatever its
        # name.
        text = self.print(arg.type.type, f"{where} argument {name_of(arg.label)}")
        alias = _alias(arg.type.display_name)
        said = f"{arg.label}: {alias if alias and text.partition('<')[0] != alias else text}"
        self._room -= len(said)
        if self._room < 0:
            raise TooLarge(
                field="abiJson",
                problem=f"has arguments of more than {DESCRIPTION_MAX} characters in all",
            )
        return said

    def print(self, id: int, where: str, within: tuple[int, ...] = ()) -> str:
        """Return the type *id* as people write it."""
        text = self._printed.get(id)
        if text is None:
            if id not in self._types:
                problem = f"has the type id {id}, which is not in abiJson types"
            elif id in within:
                problem = f"has a recursive type: type {id} holds itself"
            elif len(within) == DEPTH_MAX:
                problem = f"has types more than {DEPTH_MAX} deep inside one another"
            else:
                text = self._print_type(id, where, (*within, id))
                problem = f"has a type longer than {LENGTH_MAX} characters"
            if text is None or len(text) > LENGTH_MAX:
                raise InvalidRequest(field=where, problem=problem)
            self._printed[id] = text
        return text

    def _print_type(self, id: int, where: str, within: tuple[int, ...]) -> str:
        def join(ids: Iterable[int | None]) -> str:
            return _join("_" if each is None else self.print(each, where, within) for each in ids)

        type_, shape = self._types[id], self._types[id].definition
        if type_.path:
            parameters = join(each.type for each in type_.params or ())
            return f"{type_.path[-1]}<{parameters}>" if parameters else type_.path[-1]
        if shape is None:
            raise InvalidRequest(field=f"abiJson type {id}", problem="has neither path nor def")
        if shape.primitive is not None:
            # Only an owned string can be an argument.
            return "String" if shape.primitive == "str" else shape.primitive
        if shape.tuple is not None:
            return f"({join(shape.tuple)}{',' if len(shape.tuple) == 1 else ''})"
        if shape.sequence is not None:
            return f"Vec<{join([shape.sequence.type])}>"
        if shape.compact is not None:
            return f"Compact<{join([shape.compact.type])}>"
        if shape.array is not None:
            return f"[{join([shape.array.type])}; {shape.array.len}]"
        if shape.composite is not None:
            # Only what has no name of its own comes here.
            return f"({join(each.type for each in shape.composite.get('fields') or ())})"
        if shape.variant is not None:
            return (
                _join((each.name for each in shape.variant.get("variants") or ()), by=" | ") or "!"
            )
        if bits := shape.bitsequence or shape.bit_sequence:
            return f"BitVec<{join(bits[key] for key in sorted(bits, reverse=True))}>"
        raise InvalidRequest(
            field=f"abiJson type {id}", problem="is not one that ink! metadata knows"
        )


def _join(texts: Iterable[str], *, by: str = ", ") -> str:
    """Join *texts*, as far as a type may be long; then a bit more, which is refused."""
    joined = ""
    for text in texts:
        joined += by + text if joined else text
        if len(joined) > LENGTH_MAX:
            break
    return joined


def _alias(path: object) -> str:
    """Return the name in a `displayName` that says as much as the type."""
    if not isinstance(path, list) or not path or not isinstance(path[-1], str):
        return ""
    name = path[-1]
    # A path of several words is mostly a macro's: `psp22_external::TransferInput1` tells nobody
    # anything.
    is_known = len(path) == 1 or name in _WIDELY_KNOWN
    return name if is_known and name.isidentifier() and name not in _NOT_ALIASES else ""


#: An address in pallet-revive, as on Ethereum; pallet-contracts knows contracts by account.
H160 = 20


async def is_contract(client: "Client", address: bytes) -> bool:
    """Return whether a contract exists at *address*: 20 bytes for pallet-revive, 32 for
    pallet-contracts."""
    table = await client.table()
    name = client.chain.title
    needed, other = ("Revive", "Contracts") if len(address) == H160 else ("Contracts", "Revive")
    if needed not in table.pallets:
        if other not in table.pallets:
            raise InvalidRequest(
                field="chain",
                problem=(
                    f"{name} has no contracts, {table} has neither pallet-contracts nor "
                    "pallet-revive"
                ),
                expected="one like assetHub",
            )
        known = (
            "by account, expected the contract's SS58 address and ink! metadata of version 3 to 5"
            if needed == "Revive"
            else "by 20 bytes, expected the contract's 0x address and ink! metadata of version 6"
        )
        raise InvalidRequest(
            field="chain",
            problem=f"{name} has pallet-{other.lower()}, which knows contracts {known}",
        )
    if "AccountInfoOf" in table.storage_entries(needed):
        # One map has contracts and other accounts.
        account = await client.storage(needed, "AccountInfoOf", address)
        return account is not None and "Contract" in account["account_type"]
    return await client.storage(needed, "ContractInfoOf", address) is not None
