"""The messages of an ink! contract, read from its metadata (ABI) of version 3, 4, 5 or 6, and
whether one is at an address.

Version 3 lies nested under `V3`, the later ones at the top with their number under `version`.  In
all of them the types are a list of `{id, type}`, and whatever has a type names it by that id.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from scenarioctl.errors import InvalidRequest, TooLarge, name_of
from scenarioctl.model.amounts import from_hex

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client


T = TypeVar("T")

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
    *(
        "Vec",
        "VecDeque",
        "BinaryHeap",
        "LinkedList",
        "BTreeMap",
        "BTreeSet",
        "Option",
        "Result",
        "Compact",
    ),
    *("Box", "Rc", "Arc", "Cow", "String", "Self"),
}
#: The names of a chain's own types.  Block number and timestamp are left out: a u32 within another
#: type is seldom one.
_CHAIN_TYPES = ("accountId", "balance", "hash")
_WIDELY_KNOWN = frozenset(("AccountId", "Balance", "Hash", "BlockNumber", "Timestamp"))


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
    spec = _member(body, "spec", dict, where)
    where += " spec"
    messages = _member(spec, "messages", list, where)
    if not messages:
        raise InvalidRequest(
            field=where, problem="messages is empty", expected="at least one message"
        )
    types = _Types(_member(body, "types", list, where.removesuffix(" spec")), spec)
    return tuple(
        _describe_message(message, f"{where} message {number}", types)
        for number, message in enumerate(messages, start=1)
    )


def _locate(abi: object) -> tuple[int, Mapping[str, object], str]:
    """Return the version, the object that holds spec and types, and how to call that in an
    error."""
    if not isinstance(abi, dict):
        raise InvalidRequest(
            field="abiJson",
            problem=f"is {name_of(abi)}",
            expected="an object: a contract's metadata file",
        )
    expected = "ink! metadata version 3 (under V3), 4, 5 or 6"
    if "version" in abi:
        version = abi["version"]
        for known in VERSIONS[1:]:
            # Version 4 began its life as text.
            if version == str(known) or (version == known and type(version) is int):
                return known, abi, "abiJson"
        raise InvalidRequest(
            field="abiJson", problem=f"version {name_of(version)} cannot be read", expected=expected
        )
    if "V3" in abi:
        return 3, _member(abi, "V3", dict, "abiJson"), "abiJson V3"
    for name in abi:
        if isinstance(name, str) and name[:1] == "V" and name[1:].isdecimal() and len(name) < 6:
            raise InvalidRequest(
                field="abiJson", problem=f"version {name} cannot be read", expected=expected
            )
    if "metadataVersion" in abi:
        raise InvalidRequest(
            field="abiJson",
            problem=f"metadataVersion {name_of(abi['metadataVersion'])} cannot be read",
            expected=expected,
        )
    raise InvalidRequest(field="abiJson", problem="has no version", expected=expected)


def _describe_message(message: object, where: str, types: "_Types") -> ContractMessage:
    if not isinstance(message, dict):
        raise InvalidRequest(field=where, problem=f"is {name_of(message)}", expected="an object")
    label = _label(message, where)
    where = f"{where} {name_of(label)}"
    selector = _member(message, "selector", str, where)
    if not selector.startswith("0x") or len(from_hex(selector) or b"") != 4:
        raise InvalidRequest(
            field=where,
            problem=f"selector {name_of(selector)} is not four bytes of hex",
            expected="one like 0x633aa551",
        )
    mutates = _member(message, "mutates", bool, where)
    args: list[str] = []
    for number, arg in enumerate(_member(message, "args", list, where), start=1):
        place = f"{where} argument {number}"
        if not isinstance(arg, dict):
            raise InvalidRequest(field=place, problem=f"is {name_of(arg)}", expected="an object")
        name = _label(arg, place)
        args.append(f"{name}: {types.print_written(arg, f'{where} argument {name_of(name)}')}")
        types.count(len(args[-1]))
    return ContractMessage(
        function_name=label, selector=selector.lower(), mutates=mutates, args=tuple(args)
    )


class _Types:
    """The registry of types, and the names that the contract's author wrote for them."""

    def __init__(self, entries: list[object], spec: Mapping[str, object]) -> None:
        self._types: dict[int, Mapping[str, object]] = {}
        for number, entry in enumerate(entries, start=1):
            where = f"abiJson types entry {number}"
            if not isinstance(entry, dict):
                raise InvalidRequest(
                    field=where,
                    problem=f"is {name_of(entry)}",
                    expected="an object with id and type",
                )
            self._types[_id(entry, "id", where)] = _member(entry, "type", dict, where)
        self._printed: dict[int, str] = {}
        self._room = DESCRIPTION_MAX
        self._aliases = _chain_aliases(spec)

    def count(self, length: int) -> None:
        """Count the characters of an argument against those of all."""
        self._room -= length
        if self._room < 0:
            raise TooLarge(
                field="abiJson",
                problem=f"has arguments of more than {DESCRIPTION_MAX} characters in all",
            )

    def print_written(self, holder: Mapping[str, object], where: str) -> str:
        """Return the type of an argument: as its author wrote it where that says as much, else as
        it is."""
        written = _member(holder, "type", dict, where)
        id = _id(written, "type", f"{where} type")
        # The type is looked at in any case: an id that leads nowhere is an error, whatever its
        # name.
        text = self.print(id, where)
        alias = _alias(written)
        return alias if alias and text.partition("<")[0] != alias else text

    def print(self, id: int, where: str, within: tuple[int, ...] = ()) -> str:
        """Return the type *id* as people write it."""
        if id in self._printed:
            return self._printed[id]
        if id not in self._types:
            raise InvalidRequest(
                field=where, problem=f"has the type id {id}, which is not in abiJson types"
            )
        if id in within:
            raise InvalidRequest(
                field=where, problem=f"has a recursive type: type {id} holds itself"
            )
        if len(within) == DEPTH_MAX:
            raise InvalidRequest(
                field=where, problem=f"has types more than {DEPTH_MAX} deep inside one another"
            )
        text = self._aliases.get(id) or self._print_definition(id, where, (*within, id))
        if len(text) > LENGTH_MAX:
            raise _too_long(where)
        self._printed[id] = text
        return text

    def _print_definition(self, id: int, where: str, within: tuple[int, ...]) -> str:
        type_ = self._types[id]
        place = f"abiJson type {id}"
        path = type_.get("path") or []
        if not isinstance(path, list) or not all(isinstance(part, str) for part in path):
            raise InvalidRequest(
                field=place, problem=f"path is {name_of(path)}", expected="a list of names"
            )
        if path:
            return str(path[-1]) + self._print_parameters(type_, place, where, within)
        definition = _member(type_, "def", dict, place)
        for kind, content in definition.items():
            return self._print_shape(kind, content, place, where, within)
        raise InvalidRequest(
            field=place, problem="def is empty", expected="one like {'primitive': 'u32'}"
        )

    def _print_parameters(
        self, type_: Mapping[str, object], place: str, where: str, within: tuple[int, ...]
    ) -> str:
        parameters = type_.get("params") or []
        if not isinstance(parameters, list):
            raise InvalidRequest(
                field=place, problem=f"params is {name_of(parameters)}", expected="a list"
            )

        def print_one(parameter: object) -> str:
            if not isinstance(parameter, dict):
                raise InvalidRequest(
                    field=place,
                    problem=f"params hold {name_of(parameter)}",
                    expected="an object with name and type",
                )
            # A parameter that no field uses has no type.
            if parameter.get("type") is None:
                return "_"
            return self.print(_id(parameter, "type", f"{place} params"), where, within)

        return f"<{_join(map(print_one, parameters), where)}>" if parameters else ""

    def _print_shape(
        self, kind: str, content: object, place: str, where: str, within: tuple[int, ...]
    ) -> str:
        place = f"{place} {kind}"
        if kind == "primitive" and isinstance(content, str):
            # Only an owned string can be an argument.
            return "String" if content == "str" else content
        if kind == "tuple" and isinstance(content, list):
            text = _join(
                (self.print(_check_id(part, place), where, within) for part in content), where
            )
            return f"({text},)" if len(content) == 1 else f"({text})"
        if not isinstance(content, dict):
            raise InvalidRequest(
                field=place, problem=f"is {name_of(content)}", expected="a definition"
            )
        if kind in ("sequence", "compact"):
            inner = self.print(_id(content, "type", place), where, within)
            return f"Vec<{inner}>" if kind == "sequence" else f"Compact<{inner}>"
        if kind == "array":
            return (
                f"[{self.print(_id(content, 'type', place), where, within)}; "
                f"{_id(content, 'len', place)}]"
            )
        if kind.lower() == "bitsequence":
            parts = [
                self.print(_id(content, key if key in content else other, place), where, within)
                for key, other in (
                    ("bit_store_type", "bitStoreType"),
                    ("bit_order_type", "bitOrderType"),
                )
            ]
            return f"BitVec<{', '.join(parts)}>"
        if kind == "composite":
            # Only what has no name of its own comes here.
            fields = content.get("fields") or []
            if isinstance(fields, list) and all(isinstance(field, dict) for field in fields):
                texts = (self.print(_id(field, "type", place), where, within) for field in fields)
                return f"({_join(texts, where)})"
        if kind == "variant":
            variants = content.get("variants") or []
            if isinstance(variants, list) and all(
                isinstance(variant, dict) for variant in variants
            ):
                names = (_member(variant, "name", str, place) for variant in variants)
                return _join(names, where, by=" | ") or "!"
        raise InvalidRequest(field=place, problem="is not a definition that ink! metadata knows")


def _join(texts: Iterable[str], where: str, *, by: str = ", ") -> str:
    """Join *texts*, up to the limit of a type."""
    joined: list[str] = []
    length = 0
    for text in texts:
        length += len(text) + len(by)
        if length - len(by) > LENGTH_MAX:
            raise _too_long(where)
        joined.append(text)
    return by.join(joined)


def _too_long(where: str) -> InvalidRequest:
    return InvalidRequest(field=where, problem=f"has a type longer than {LENGTH_MAX} characters")


def _chain_aliases(spec: Mapping[str, object]) -> dict[int, str]:
    """Return the names of the chain's own types, for those ids that the contract never calls
    otherwise."""
    names: dict[int, set[str]] = {}
    certain: dict[int, str] = {}
    environment = spec.get("environment")
    if isinstance(environment, dict):
        for key, written in environment.items():
            for id, name in _written_names(written):
                names.setdefault(id, set()).add(name)
                if key in _CHAIN_TYPES:
                    certain[id] = name
    for part in ("constructors", "messages", "events"):
        for id, name in _written_names(spec.get(part)):
            names.setdefault(id, set()).add(name)
            # Version 3 has no environment.
            if name == "Balance":
                certain.setdefault(id, name)
    return {id: name for id, name in certain.items() if names[id] == {name}}


def _written_names(part: object) -> Iterator[tuple[int, str]]:
    """Yield each type id in *part* of the spec with the one-word name that stands beside it."""
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            id, path = part.get("type"), part.get("displayName")
            if (
                type(id) is int
                and isinstance(path, list)
                and len(path) == 1
                and isinstance(path[0], str)
            ):
                yield id, path[0]
            waiting += part.values()


def _alias(written: Mapping[str, object]) -> str:
    path = written.get("displayName")
    if not isinstance(path, list) or not path or not isinstance(path[-1], str):
        return ""
    name = path[-1]
    # A path of several words is mostly a macro's: `psp22_external::TransferInput1` tells nobody
    # anything.
    if (
        name in _NOT_ALIASES
        or not name.isidentifier()
        or (len(path) > 1 and name not in _WIDELY_KNOWN)
    ):
        return ""
    return name


_KINDS: Mapping[type, str] = {dict: "an object", list: "a list", str: "text", bool: "true or false"}


def _member(holder: Mapping[str, object], key: str, kind: type[T], where: str) -> T:
    """Return the member *key* of *holder*, which has to be a *kind*."""
    if key not in holder:
        raise InvalidRequest(field=where, problem=f"has no {key}", expected=_KINDS[kind])
    value = holder[key]
    if not isinstance(value, kind):
        raise InvalidRequest(
            field=where, problem=f"{key} is {name_of(value)}", expected=_KINDS[kind]
        )
    return value


def _label(holder: Mapping[str, object], where: str) -> str:
    label = _member(holder, "label", str, where)
    if not label or not label.isprintable():
        raise InvalidRequest(field=where, problem=f"label {name_of(label)} is not a name")
    return label


def _id(holder: Mapping[str, object], key: str, where: str) -> int:
    if key not in holder:
        raise InvalidRequest(field=where, problem=f"has no {key}", expected="a number")
    return _check_id(holder[key], f"{where} {key}")


def _check_id(value: object, where: str) -> int:
    if type(value) is not int or not 0 <= value < 2**32:
        raise InvalidRequest(
            field=where, problem=f"is {name_of(value)}", expected="a number from 0 to 4294967295"
        )
    return value


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
