"""The fields of a step: what each is called, where a form keeps it, and how its values are read and
written.

To add a field, add a `Part` to its step, and a `Kind` if no other field has such values.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scenarioctl.actions.fields import (
    asset_key,
    find_form_asset,
    is_written_formula,
    read_form_amount,
    read_raw,
    read_template,
    read_tokens,
)
from scenarioctl.actions.placeholders import (
    Data,
    Encoder,
    Filled,
    Unfillable,
    fill,
    has_placeholder,
    is_placeholder,
    require_filled,
)
from scenarioctl.errors import BadJson, InvalidRequest, name_of
from scenarioctl.model.amounts import RAW
from scenarioctl.model.formulas import split_amount
from scenarioctl.model.request_fields import Value, field_values
from scenarioctl.transactions.keyless_accounts import parse_receiver

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: Takes a mistake.
Collect = Callable[[InvalidRequest | BadJson], None]


class Checking:
    """A block that checks something: a mistake is raised, or given to *collect* and the block is
    left."""

    def __init__(self, collect: Collect | None = None) -> None:
        self._collect = collect

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        if self._collect is None or not isinstance(error, (InvalidRequest, BadJson)):
            return False
        self._collect(error)
        return True


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of value."""

    #: (reading, value, its name, what the field means that it depends on) -> what it means.
    read: Callable[["Reading", Any, str, Any], Any]
    #: (what it means, what the field means that it depends on) -> what a form keeps; None: the
    #: value as it is.
    write: Callable[[Any, Any], Any] | None = None
    #: (a form's side, the name there) -> the value.
    find: Callable[[Mapping[str, Any], str], Any] = lambda side, name: side.get(name)
    #: (app, the value, its side) -> the same in a flow file.
    back: Callable[["Application", Any, Mapping[str, Any]], Any] = lambda _app, value, _side: value
    #: (the value of a form, what fills it, the form that is filled otherwise) -> the value filled;
    #: None: as any other.
    fill: "Callable[[Any, Data, Mapping[str, Any]], Any] | None" = None
    #: A request and a flow file may have a placeholder in its place.
    open: bool = False
    #: What is expected where a form has none; empty if nothing is.
    expected: str = ""
    #: It is read even if there is a mistake in what it depends on.
    alone: bool = False
    #: (app, text with a mistake) -> what is drawn in its place; None: nothing.
    unread: "Callable[[Application, str], Any] | None" = None


def parsing(parse: Callable[..., Any], **others: Any) -> Kind:
    """Return the kind of values that *parse* takes with the name of their `field`."""
    return Kind(read=lambda _reading, value, name, _of: parse(value, field=name), **others)


def _text(reading: "Reading", value: Any, name: str, of: Any) -> str:
    """Return a text; a number that somebody wrote is taken as its digits."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    text = str(value) if is_number and reading.way != "form" else value
    if text is not None and not isinstance(text, str):
        raise InvalidRequest(field=name, problem=f"is {name_of(value)}", expected="text")
    return text or ""


def _line(reading: "Reading", value: Any, name: str, of: Any) -> str:
    return _not_empty(_text(reading, value, name, of), value, name)


def _filled(reading: "Reading", value: Any, name: str, of: Any) -> str:
    text = _text(reading, value, name, of)
    return _not_empty(text if text.strip() else "", value, name)


def _not_empty(text: str, value: Any, name: str) -> str:
    if not text and value is not None:
        raise InvalidRequest(field=name, problem="is empty", expected="text")
    return text


def _flag(reading: "Reading", value: Any, name: str, of: Any) -> bool:
    if value is not None and not isinstance(value, bool):
        raise InvalidRequest(field=name, problem=f"is {name_of(value)}", expected="true or false")
    return bool(value)


def _asset(reading: "Reading", value: Any, name: str, chain: Any) -> Any:
    if chain is None or value is None:
        return None
    if reading.way == "form":
        side = find_side(reading.written, name.split(".")[:-1])
        return find_form_asset(reading.app, chain, side, name)
    return reading.app.assets.find(chain, value, field=name)


def _tokens(reading: "Reading", value: Any, name: str, asset: Any) -> tuple[str, int | None]:
    """Return whole tokens as text, and in the smallest unit: None where a formula has to be worked
    out, or a placeholder to be filled, first."""
    if reading.way == "form":
        if is_written_formula(value):
            return value, None
        return read_form_amount(value, asset, name)
    if reading.way == "kept":
        return read_template(value, asset, name)
    if reading.is_raw or str(value).strip().lower().endswith(RAW):
        return str(value), read_raw(value, asset, name)
    return read_tokens(value, asset, name)


def _account(reading: "Reading", value: Any, name: str, chain: Any) -> tuple[str, bytes | None]:
    """Return an address as it was written, and whose it is; None where a placeholder will tell."""
    if reading.way == "kept" and has_placeholder(value):
        return value, None
    return str(value), parse_receiver(value, chain, field=name)


class _AmountEncoder(Encoder):
    """Writes data into an amount: one amount with or without a unit, and no formula of its own."""

    def write(self, value: Any, following: str) -> str:
        text = super().write(value, following)
        if split_amount(text) is None:
            raise Unfillable(
                "would be filled in with text that is not one amount, like 1.5 or 1.5 DOT"
            )
        # The digits around it belong to other numbers; no number goes on with `raw`.
        return f" {text}" if following in ("r", "R") else f" {text} "


def _fill_amount(amount: Any, data: Data, _form: object) -> Any:
    if not isinstance(amount, str) or is_placeholder(amount):
        return fill(amount, data)
    written = fill(amount, data, encoder=_AmountEncoder)
    # What was filled in is an amount now; the formula around it is its author's.
    return " ".join(written.split()) if isinstance(written, Filled) else written


TEXT = Kind(read=_text, write=lambda text, _: text)
#: Not empty; and not blank.
LINE = replace(TEXT, read=_line)
FILLED = replace(TEXT, read=_filled, unread=lambda _, typed: typed)
FLAG = Kind(read=_flag)
CHAIN = Kind(
    read=lambda reading, value, name, _: reading.app.registry.find(value, field=name),
    write=lambda chain, _: chain.name,
    expected="the name of a chain",
    # Nothing is known of it: no runtime, no relay chain to share assets with.
    unread=lambda app, _: app.registry.all()[0]._replace(
        name="?", role="parachain", relay="", genesis=""
    ),
)
ASSET = Kind(
    read=_asset,
    write=lambda asset, _: asset if isinstance(asset, str) else asset.id,
    find=lambda side, name: side.get("symbol") if side.get(name) in (None, "") else side[name],
    back=lambda app, _, side: asset_key(app, side),
    open=True,
    expected="the id or the symbol of an asset",
    unread=lambda _, typed: typed,
)
TOKENS = Kind(
    read=_tokens,
    write=lambda amount, _: amount[0],
    fill=_fill_amount,
    expected="whole tokens, like 1.5",
    alone=True,
    unread=lambda _, typed: (typed, None),
)
ACCOUNT = Kind(
    read=_account,
    write=lambda address, _: address[0],
    expected="the receiver's address",
    unread=lambda _, typed: (typed, None),
)


@dataclass(frozen=True)
class Part(Value):
    """A field of a step."""

    kind: Kind = TEXT
    #: Where a form keeps it, and what messages about a form call it; empty: nowhere.
    at: str = ""
    #: The field that it depends on: the chain of an asset, the asset of an amount.
    of: str = ""
    #: In place of that of its kind.
    expected: str = ""
    #: A request and a flow file must have it; else what counts where they have none.
    needed: bool = False
    default: Any = None


def parts_of(step: type) -> dict[str, Part]:
    """Return the fields of a dataclass that requests inherit."""
    defaults = {each.name: each.default for each in fields(step)}
    return {
        name: replace(value, needed=True)
        if defaults[name] is MISSING
        else replace(value, default=defaults[name])
        for name, value in field_values(step).items()
        if isinstance(value, Part)
    }


class Terms(NamedTuple):
    """The fields of a step, and what several of them have to be together."""

    parts: Mapping[str, Part]
    rules: "Callable[[Reading], None] | None" = None


class Reading(dict[str, Any]):
    """What the fields of a step mean, by their keys.

    *names* are those that a request has for its fields, if they are others.

    *kept*: of a request or a flow file, from which a scenario is made: placeholders stay. *built*:
    of a request that is answered at once. *form*: of a form that was filled, in which nothing that
    is needed may be missing. With *collect*, a field with a mistake is *unread*.
    """

    def __init__(
        self,
        app: "Application",
        terms: Terms,
        values: Mapping[str, Any],
        way: Literal["kept", "built", "form"] = "kept",
        *,
        place: str = "",
        names: Mapping[str, str] | None = None,
        is_raw: bool = False,
        collect: Collect | None = None,
    ) -> None:
        super().__init__()
        self.app: Application = app
        self.parts, self.written, self.way = terms.parts, values, way
        #: A number without a unit is in the smallest one.
        self.is_raw = is_raw
        self._place, self._names, self._collect = place, names or {}, collect
        self.unread: set[str] = set()
        #: What is said of what was written.
        self.notes: tuple[str, ...] = ()
        self._kept: dict[str, Any] = {}
        for key in self.parts:
            self._read(key)
        if terms.rules is not None:
            terms.rules(self)

    def checking(self, *keys: str) -> Checking:
        """Check in here what these fields have to be together; nothing if one is unread."""
        is_known = self.unread.isdisjoint(keys)
        return Checking(self._collect if is_known else lambda _: None)

    def name(self, key: str) -> str:
        """Return what messages call a field."""
        if self.way == "form":
            return self.parts[key].at
        return f"{self._place}.{key}" if self._place else self._names.get(key, key)

    def given(self, key: str) -> Any:
        """Return the value of a field as it is written; None if there is none."""
        part = self.parts[key]
        if self.way == "form":
            value = find_value(self.written, part)
            return None if value == "" else value
        value = self.written.get(self._names.get(key, key))
        return part.default if value is None else value

    def put(self, key: str, meant: Any, given: Any = None) -> None:
        """Let a field mean this."""
        self[key] = meant
        write, of = self.parts[key].kind.write, self.get(self.parts[key].of)
        self._kept[key] = None if meant is None else given if write is None else write(meant, of)

    def form(self) -> dict[str, Any]:
        """Return what a form keeps of it all."""
        found: dict[str, Any] = {}
        for key, value in self._kept.items():
            *sides, last = self.parts[key].at.split(".")
            if value is not None and value is not False and last:
                place = found
                for side in sides:
                    place = place.setdefault(side, {})
                place[last] = value
        return found

    def _read(self, key: str) -> None:
        part, value = self.parts[key], self.given(key)
        kind = part.kind
        if key in self:
            return
        if part.of and part.of not in self:
            self._read(part.of)
        if part.of not in self.unread or (kind.alone and self.way != "form"):
            with Checking(self._collect):
                self._take(key, part, value)
                return
        self.unread.add(key)
        typed = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
        self[key] = None
        if kind.unread is not None:
            self.put(key, kind.unread(self.app, typed), typed)

    def _take(self, key: str, part: Part, value: Any) -> None:
        kind, name = part.kind, self.name(key)
        expected = part.expected or kind.expected
        if self.way == "form":
            value = require_filled(value, field=name)
        if value is None and (expected if self.way == "form" else part.needed):
            raise InvalidRequest(field=name, problem="is missing", expected=expected)
        if self.way == "kept" and kind.open and has_placeholder(value):
            self[key] = self._kept[key] = value
            return
        meant = kind.read(self, value, name, self.get(part.of))
        if value is None:
            self[key] = meant
        else:
            self.put(key, meant, value)


def find_value(form: Mapping[str, Any], part: Part) -> Any:
    """Return the value that a form has for *part*; None if it has none."""
    *sides, last = part.at.split(".")
    side = find_side(form, sides)
    return part.kind.find(side, last) if last else None


def find_side(form: Any, names: "list[str]") -> Mapping[str, Any]:
    for name in names:
        form = form.get(name) if isinstance(form, Mapping) else None
    return form if isinstance(form, Mapping) else {}
