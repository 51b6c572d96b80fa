"""What a field of a request is to a person: the unit of its values, those to choose from, and what
it is for.

A request is a frozen dataclass. Beside the type of a field stands its `Value`, or a name for one
below, and above it a `#:` comment says what it is for. Options and arguments of commands,
completion and `/openapi.json` are made from them. In a comment, `name` with backticks is another
field, or what to type.
"""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from itertools import takewhile
from types import UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    TypedDict,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from scenarioctl.errors import InvalidRequest, ScenarioctlError


@dataclass(frozen=True)
class Value:
    """What a value of a field is, beside its type."""

    #: Stands for a value in the help, like `CHAIN`; empty: the name of the field. It also tells
    #: what completes a value.
    unit: str = ""
    #: The values to choose from; empty if there are others.
    choices: tuple[str, ...] = ()
    #: Values that a shell offers, though others are right too.
    offers: tuple[str, ...] = ()
    #: What completes a value, if the unit doesn't tell.
    complete: str = ""
    #: It names a stored scenario: by its id, its name, the beginning of its id, or `@last`.
    is_stored: bool = False
    #: It is an account: an address, or its name in the address book.
    is_account: bool = False
    #: How a command line spells its option, if not like its name; spellings of the HTTP interface,
    #: which are shown nowhere.
    option: str = ""
    spellings: tuple[str, ...] = ()
    #: Few need it: the help of commands only names its option.
    rare: bool = False
    #: The name of the field in JSON and query strings, if it isn't that in the code; other names
    #: that it is taken by.
    public: str = ""
    also: tuple[str, ...] = ()
    #: What errors call a value, if not by the name of the field.
    called: tuple[str, ...] = ()
    #: Of a field that is true or false: the option for false.
    off: str = ""
    #: Whether its option may be repeated, for several values.
    repeats: bool = False
    #: Bounds of a number.
    least: int | None = None
    most: int | None = None


ChainName = Annotated[str, Value("CHAIN")]
SourceChain = Annotated[
    str, Value("CHAIN", option="--from", spellings=("--source-chain", "--sourchain"))
]
#: As `destchain`, which the interface also spells otherwise.
DestChain = Annotated[
    str,
    Value(
        "CHAIN",
        option="--to",
        spellings=("--dest-chain", "--destchain", "--deschain"),
        also=("deschain",),
    ),
]
PalletName = Annotated[str, Value("PALLET")]
#: A storage item or constant of a pallet, or a method of a runtime API.
ItemName = Annotated[str, Value("METHOD")]
CallParameters = Annotated[tuple[Any, ...], Value("PARAM")]
AssetName = Annotated[str | int, Value("ASSET")]
SentAsset = Annotated[str | int, Value("ASSET", option="--asset", spellings=("--assetid",))]
Address = Annotated[str, Value("ADDRESS", is_account=True)]
Receiver = Annotated[
    str,
    Value(
        "ADDRESS",
        is_account=True,
        option="--to-address",
        spellings=("--destination-address", "--destinationaddress"),
    ),
]
#: Who acts for another account: the name of a multisig or of a proxied account in the address book.
ActingName = Annotated[str, Value("NAME", complete="ADDRESS", public="as", option="--as")]
_CALLED = ("scenario", "id", "job")
ScenarioName = Annotated[str, Value("ID", is_stored=True, called=_CALLED)]
#: Where a command takes its name as the transaction itself.
SourceScenario = Annotated[str, Value("ID", is_stored=True, called=_CALLED, rare=True)]
JobName = Annotated[str, Value("ID", is_stored=True, complete="JOB", called=_CALLED)]
JobNames = Annotated[tuple[str, ...], Value("ID", is_stored=True, complete="JOB", called=_CALLED)]
_ALSO = ("scenario_id", "scenarioid", "job")
#: The same in operations that the original interface hasn't, where it has one name.
OwnScenarioName = Annotated[
    str, Value("ID", is_stored=True, public="scenario", also=_ALSO, called=_CALLED)
]
#: The id alone: where a request that is repeated must not mean another scenario.
OwnScenarioId = Annotated[str, Value("ID", public="scenario", also=_ALSO, called=_CALLED)]
OwnJobName = Annotated[
    str, Value("ID", is_stored=True, complete="JOB", public="scenario", also=_ALSO, called=_CALLED)
]
StepName = Annotated[int | str, Value("N")]
Count = Annotated[int | str, Value("N")]
DraftNumber = Annotated[int | str, Value("SEQ")]
Cursor = Annotated[str | int, Value("CURSOR")]
Block = Annotated[str | int, Value("BLOCK")]
Hash = Annotated[str, Value("0xHASH")]
#: 0x hex of a transaction; a command also reads it from stdin.
TransactionHex = Annotated[str, Value("HEX")]
#: The answer of `tx payload`, or a SignerPayloadJSON; a command reads it from a file.
PayloadJson = Annotated[Any, Value("PAYLOAD")]
#: An amount in whole tokens.
Tokens = Annotated[str | int | float, Value("TOKENS")]
#: An amount in the smallest unit.
Raw = Annotated[str | int, Value("RAW")]
Percent = Annotated[str | int | float, Value("PERCENT")]
Syntax = Annotated[str, Value("toml|json", offers=("toml", "json"))]
Duration = Annotated[str | int | float, Value("DURATION")]


class FieldRow(TypedDict):
    """A field of a request, as command lines and schemas are made from it; what is left out is
    empty."""

    name: str
    #: Stands for a value in the help.
    unit: str
    #: What it is for.
    help: str
    #: Its default, if it isn't required.
    default: NotRequired[Any]
    #: It is true or false.
    flag: NotRequired[bool]
    #: It takes several values.
    list: NotRequired[bool]
    choices: NotRequired[Sequence[str]]
    offers: NotRequired[Sequence[str]]
    complete: NotRequired[str]
    is_stored: NotRequired[bool]
    option: NotRequired[str]
    spellings: NotRequired[Sequence[str]]
    rare: NotRequired[bool]
    off: NotRequired[str]
    repeats: NotRequired[bool]
    least: NotRequired[int]
    most: NotRequired[int]


@cache
def field_rows(request_type: type) -> Sequence[FieldRow]:
    """Return the fields of a request: its own in their order, then those of its base classes."""
    hints, notes = get_type_hints(request_type, include_extras=True), field_notes(request_type)
    defaults = {each.name: each.default for each in fields(request_type)}
    names = dict.fromkeys(
        name for each in request_type.__mro__ for name in inspect.get_annotations(each)
    )
    rows = []
    for name in names:
        if name not in defaults:
            continue
        hint, value = hints[name], next(_values_in(hints[name]), Value())
        row: dict[str, Any] = {
            "name": name,
            "unit": value.unit or name.upper(),
            "help": notes.get(name, ""),
        }
        if defaults[name] is not MISSING:
            row["default"] = defaults[name]
        if bool in _types_in(hint):
            row["flag"] = True
        if isinstance(defaults[name], tuple) or get_origin(next(_types_in(hint))) is tuple:
            row["list"] = True
        row |= {
            key: given
            for key, given in vars(value).items()
            if key in FieldRow.__annotations__
            and key != "unit"
            and given not in ((), "", False, None)
        }
        rows.append(cast("FieldRow", row))
    return rows


@cache
def field_values(request_type: type) -> Mapping[str, Value]:
    """Return what the values of each field of a request are."""
    hints = get_type_hints(request_type, include_extras=True)
    return {each.name: next(_values_in(hints[each.name]), Value()) for each in fields(request_type)}


def stored_fields(request_type: type) -> tuple[str, ...]:
    """Return the fields of a request that name stored scenarios."""
    return tuple(name for name, value in field_values(request_type).items() if value.is_stored)


def account_fields(request_type: type) -> tuple[str, ...]:
    """Return the fields of a request that are accounts."""
    return tuple(name for name, value in field_values(request_type).items() if value.is_account)


@cache
def public_names(request_type: type) -> Mapping[str, str]:
    """Return the fields of a request, each with its name in JSON."""
    return {name: value.public or name for name, value in field_values(request_type).items()}


@cache
def field_aliases(request_type: type) -> Mapping[str, str]:
    """Return the other names by which JSON may name fields of a request, each with the name in
    JSON."""
    public = public_names(request_type)
    return {
        other: public[name]
        for name, value in field_values(request_type).items()
        for other in (name, *value.also)
        if other not in public.values()
    }


@contextmanager
def naming_fields(request_type: type, sent: object, *, in_sentence: bool = False) -> Iterator[None]:
    """Let errors of a request with the fields *sent* name the field at fault as who sent it calls
    it, and *in_sentence* too what is wrong with its value."""
    try:
        yield
    except ScenarioctlError as error:
        head = re.split(r"\W", error.field, maxsplit=1)[0]
        rest = error.field[len(head) :]
        aliases, public = field_aliases(request_type), public_names(request_type)
        meant = [name for name in public.values() if name == aliases.get(head, head)]
        meant += [
            public[name] for name, each in field_values(request_type).items() if head in each.called
        ]
        given = sent if isinstance(sent, dict) else {}
        spelled = [
            each
            for name in meant
            for each, value in given.items()
            if aliases.get(each, each) == name and value not in ("", None)
        ]
        if meant:
            name = (spelled or meant)[0]
            sent_value = {"value": given[name]} if name in given and not rest else {}
            is_name = head in aliases or head in public.values()
            if in_sentence and is_name and isinstance(error, InvalidRequest):
                raise error.named(name + rest).blame(name + rest, **sent_value) from None
            error.blame(name + rest, **sent_value)
        raise


def _values_in(hint: Any) -> Iterator[Value]:
    if get_origin(hint) is Annotated:
        # The outermost one.
        yield from (each for each in reversed(hint.__metadata__) if isinstance(each, Value))
    for each in get_args(hint):
        yield from _values_in(each)


def _types_in(hint: Any) -> Iterator[Any]:
    """Yield the type of a value, or those of a union."""
    if get_origin(hint) is Annotated:
        hint = hint.__origin__
    yield from get_args(hint) if isinstance(hint, UnionType) else (hint,)


@cache
def field_notes(declared: type) -> Mapping[str, str]:
    """Return the `#:` comments on the fields of a dataclass or TypedDict, including inherited
    fields."""
    if not is_dataclass(declared) and not is_typeddict(declared):
        return {}
    found: dict[str, str] = {}
    # Before Python 3.12, `__bases__` of a TypedDict lacks its base classes.
    for base in reversed(getattr(declared, "__orig_bases__", declared.__bases__)):
        found |= field_notes(base)
    comment: list[str] = []
    for line in _body(declared):
        text = line.strip()
        if text.startswith("#:"):
            comment.append(text[2:].strip())
            continue
        named = re.match(r"([A-Za-z_][A-Za-z0-9_]*)\s*:", text)
        if named and comment:
            found[named[1]] = " ".join(comment)
        comment = []
    return found


def _body(declared: type) -> Iterator[str]:
    """Return the source lines inside a class at the top of its module.

    `inspect.getsource` parses the whole module for each class: 0.3 s of a daemon's start.
    """
    lines, _ = inspect.getsourcelines(sys.modules[declared.__module__])
    heads = f"class {declared.__name__}(", f"class {declared.__name__}:"
    first = next(number for number, line in enumerate(lines) if line.startswith(heads))
    return takewhile(lambda line: line[0] in " \n)", lines[first + 1 :])


#: So many letters and digits without a space are an address, or one that was mistyped.
_ADDRESS_LENGTH = 30


def could_be_address(text: str) -> bool:
    """Tell whether *text* can only mean an address: such text never names one."""
    return text[:2] in ("0x", "0X") or (text.isalnum() and len(text) >= _ADDRESS_LENGTH)


def normalized(text: str) -> str:
    """Return the one form of a name that is kept and compared."""
    import unicodedata

    return unicodedata.normalize("NFC", text.strip())
