"""Assets and amounts as people write them, in requests, flow files and forms."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeGuard

from scenarioctl.actions.placeholders import (
    Filled,
    has_placeholder,
    is_placeholder,
    replace_each,
    require_filled,
)
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.amounts import (
    RAW,
    TypedAmount,
    parse_number,
    parse_raw,
    parse_typed,
    refuse_unsure,
    several_meanings,
    to_raw,
    to_text,
    to_whole,
)
from scenarioctl.model.formulas import (
    MAXIMUM,
    OPEN,
    check_template,
    is_formula,
    split_amount,
    work_out,
)

if TYPE_CHECKING:
    from decimal import Decimal

    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain


def is_maximum(value: object) -> bool:
    return isinstance(value, str) and value.strip().lower() == MAXIMUM


def read_tokens(value: object, asset: "Asset", field: str) -> tuple[str, int]:
    """Return an amount that a person typed as whole tokens, and in the smallest unit: `1.5`, `1.5
    DOT`, `15000000000raw`."""
    if is_written_formula(value) and not is_maximum(value):
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is a formula, which only the amount of a step can be: write it in a flow file",
            expected="an amount like 1.5",
        )
    typed = parse_typed(value, field=field, spell=lambda reading: _spell_tokens(reading, asset))
    if typed.is_raw:
        raw = parse_raw(str(typed.number), field=field)
        return to_whole(raw, known_decimals(asset, field, value)), raw
    if typed.unit and not _is_unit_of(typed.unit, asset):
        raise _other_unit(
            value, typed, asset, field, _spell_tokens(typed, asset), "whole tokens, like 1.5"
        )
    tokens, raw = _scale(typed.number, asset, field, value)
    return _existing(tokens, raw, asset, field, value)


def read_template(value: object, asset: "Asset | str", field: str) -> tuple[str, int | None]:
    """Return whole tokens as text, and in the smallest unit; None where a formula or a placeholder
    is in it, or will name the *asset*."""
    if isinstance(value, str) and (has_placeholder(value) or is_written_formula(value)):
        if not is_placeholder(value):
            unit = (lambda _: 1) if isinstance(asset, str) else units_of(asset, field, value)
            check_template(replace_each(value, OPEN), field=field, unit=unit)
        return value, None
    if not isinstance(asset, str):
        return read_tokens(value, asset, field)
    typed = parse_typed(value, field=field, spell=_spell_bare)
    if typed.unit:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="has a unit, but a run fills in which asset it is",
            expected="only a number",
        )
    return to_text(typed.number), None


def is_written_formula(value: object) -> TypeGuard[str]:
    """Return whether *value* is a formula that its author wrote: data brings an amount, and no
    formula."""
    return isinstance(value, str) and not isinstance(value, Filled) and is_formula(value)


def read_form_amount(
    value: object, asset: "Asset", field: str, maximum: int | None = None
) -> tuple[str, int]:
    """Return the amount of a form in whole tokens, and in the smallest unit; in its formula,
    *maximum* is what the sender can send, raw."""
    # A form is no place to guess in: what fills it may be somebody else's data.
    decimals = known_decimals(asset, field, value)
    if is_written_formula(value):
        raw = work_out(
            value,
            field=field,
            unit=units_of(asset, field, value),
            decimals=decimals,
            maximum=maximum,
        )
        return to_whole(raw, decimals), raw
    digits, unit = (split_amount(value) if isinstance(value, str) else None) or (value, "")
    if unit.lower() == RAW:
        raw = parse_raw(digits, field=field)
        return to_whole(raw, decimals), raw
    if unit:
        units_of(asset, field, value)(unit)
    if not isinstance(value, Filled):
        refuse_unsure(digits, field=field)
    tokens, raw = _scale(parse_number(digits, field=field), asset, field, value)
    return _existing(tokens, raw, asset, field, value)


def _existing(tokens: str, raw: int, asset: "Asset", field: str, value: object) -> tuple[str, int]:
    """Return an amount in whole tokens, and raw; InvalidRequest if nobody has so many."""
    if asset.can_exist(raw):
        return tokens, raw
    raise InvalidRequest(
        field=field,
        value=value,
        problem=f"is more {asset.display_name} than can exist: check its digits",
    )


def units_of(asset: "Asset", field: str, value: object) -> Callable[[str], int]:
    """Return what tells how many smallest units of *asset* one of a unit has."""

    def smallest(unit: str) -> int:
        if unit.lower() == RAW:
            return 1
        if _is_unit_of(unit, asset):
            return int(10 ** known_decimals(asset, field, value))
        raise InvalidRequest(
            field=field,
            value=value,
            problem=f"is in {unit}, but the asset is {asset.display_name}",
            expected=f"{asset.own_symbol} or {RAW}" if asset.own_symbol else RAW,
        )

    return smallest


def note_worked_out(given: str, raw: int, asset: "Asset", maximum: int | None) -> str:
    """Return the note that says what a formula came to."""
    if maximum is None:
        return f"amount {given.strip()} is {asset.amount(raw)}"
    most = asset.amount(maximum)
    if re.fullmatch(r"[\d.\s]+%", given.strip(), re.ASCII):
        return f"{given.strip()} of {most} is {asset.amount(raw)}"
    return f"amount {given.strip()} is {asset.amount(raw)}, where max is {most}"


def read_raw(value: object, asset: "Asset", field: str) -> int:
    """Return an amount in the smallest unit; InvalidRequest names what to write if whole tokens
    were typed."""
    if not isinstance(value, str):
        return parse_raw(value, field=field)
    typed = parse_typed(
        value,
        field=field,
        expected="a whole number of smallest units, like 15000000000",
        spell=lambda reading: _spell_raw(reading, asset),
    )
    if typed.is_raw or typed.is_bare:
        return parse_raw(str(typed.number), field=field)
    if not typed.unit and "e" in value.lower():
        return parse_raw(value.strip(), field=field)
    expected = "a whole number in the smallest unit"
    if typed.unit and not _is_unit_of(typed.unit, asset):
        raise _other_unit(value, typed, asset, field, _spell_raw(typed, asset), expected)
    if asset.decimals is not None:
        tokens, raw = _scale(typed.number, asset, field, value)
        expected = f"the smallest unit: {raw} for {tokens} {asset.display_name}"
    raise InvalidRequest(field=field, value=value, problem="is in whole tokens", expected=expected)


# What an error suggests is the same amount in another spelling, in each way that it can be meant,
# or nothing.


def _spell_bare(typed: TypedAmount) -> Sequence[str]:
    return () if typed.unit else (to_text(typed.number),)


def _spell_tokens(typed: TypedAmount, asset: "Asset") -> Sequence[str]:
    """Return *typed* in whole tokens, or in the smallest unit if it is in that; empty if it isn't
    sure which amount it means."""
    if asset.decimals is None:
        return _spell_bare(typed)
    raw = typed.in_smallest_unit(asset.own_symbol, asset.decimals)
    if raw is None or not asset.can_exist(raw):
        return ()
    if typed.is_smallest:
        return (f"{raw}{RAW}",)
    tokens = to_whole(raw, asset.decimals)
    return (f"{tokens} {asset.own_symbol}" if typed.unit and asset.own_symbol else tokens,)


def _spell_raw(typed: TypedAmount, asset: "Asset") -> Sequence[str]:
    """Return *typed* in the smallest unit; empty if it isn't sure which amount it means."""
    ways = [typed.in_smallest_unit(asset.own_symbol, asset.decimals)]
    if typed.is_bare:
        ways = [int(typed.number)]
    elif len(typed.unit) == 1 and not _is_unit_of(typed.unit, asset):
        # 1k may be thousands of either.
        ways.insert(0, typed.in_smallest_unit("", 0))
    if ways[-1] is None:
        return ()
    found = [raw for raw in ways if raw is not None]
    return [
        str(raw) if asset.decimals is None else f"{raw} for {asset.amount(raw)}" for raw in found
    ]


def _other_unit(
    value: object,
    typed: TypedAmount,
    asset: "Asset",
    field: str,
    same: Sequence[str],
    expected: str,
) -> InvalidRequest:
    """Return the error for a unit that isn't taken: *same* is the same amount as the field takes
    it, empty if it isn't sure."""
    if len(same) > 1:
        return several_meanings(field, value, same)
    said = f"{field} {shorten(value)} is in {typed.unit}"
    if same:
        return InvalidRequest(f"{said}: write {same[0]}, which is the same amount")
    return InvalidRequest(f"{said}, but the asset is {asset.display_name}: expected {expected}")


def note_raw(field: str, raw: int, asset: "Asset", which: str = "") -> tuple[str, ...]:
    """Return the note that says in whole tokens what was given in the smallest unit; none without
    decimals."""
    if asset.decimals is None:
        return ()
    return (f"{field} {raw} = {asset.amount(raw)}{f' ({which})' if which else ''}",)


def note_tokens(
    field: str, given: object, raw: int, asset: "Asset", which: str = ""
) -> tuple[str, ...]:
    """Return the note that says what was *given* in whole tokens, in both units."""
    told = "; ".join(filter(None, (which, f"{raw} raw")))
    return (f"{field} {str(given).strip()} = {asset.amount(raw)} ({told})",)


def _scale(number: "Decimal", asset: "Asset", field: str, value: object) -> tuple[str, int]:
    raw = to_raw(
        number, known_decimals(asset, field, value), field=field, symbol=asset.display_name
    )
    return to_text(number), raw


def _is_unit_of(unit: str, asset: "Asset") -> bool:
    """Return whether *unit* means *asset*: the symbol of a look-alike means the asset that it
    resembles."""
    return unit.casefold() == asset.own_symbol.casefold()


def note_native(given: object, asset: "Asset", field: str) -> tuple[str, ...]:
    """Return the note on an asset that was *given* as 0, where 0 is no id of its own; none for
    others."""
    if (
        asset.kind != "native"
        or asset.id == "0"
        or str(given).strip().strip("0")
        or given is None
        or given == ""
    ):
        return ()
    return (f"{field} 0 is {asset.display_name}, the chain's native asset",)


def read_xcm_version(value: object, *, field: str) -> int | None:
    """Return the version of XCM that *value* names, None if it names none."""
    if value is None or value == "":
        return None
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if text not in ("3", "4", "5"):
        raise InvalidRequest(
            field=field, value=value, problem="is not a version of XCM", expected="3, 4 or 5"
        )
    return int(text)


def find_form_asset(
    app: "Application", chain: "Chain", side: Mapping[str, Any], field: str
) -> "Asset":
    """Return the asset that a form names by id, or by symbol where it has no id."""
    asset_id, symbol = (
        require_filled(side.get(key), field=field.replace("assetId", key))
        for key in ("assetId", "symbol")
    )
    return app.assets.find(
        chain,
        symbol if asset_id is None or asset_id == "" else asset_id,
        symbol=symbol if isinstance(symbol, str) else "",
        field=field,
        diagram=True,
    )


def asset_key(app: "Application", side: Mapping[str, Any]) -> Any:
    """Return how a flow file names the asset of a side: by its symbol if no other asset has that,
    else by its id.

    Which of several assets a symbol means may change, and a file is kept for longer.
    """
    asset_id, symbol = side.get("assetId"), side.get("symbol")
    if has_placeholder(asset_id):
        return asset_id
    chain = app.registry.find(side.get("chain"))
    asset = app.assets.find(chain, asset_id, symbol=symbol, field="assetId", diagram=True)
    with suppress(ScenarioctlError):
        symbol = "" if app.assets.told_apart(asset) else asset.own_symbol
        if symbol and app.assets.find(chain, symbol) == asset:
            return symbol
    return asset.id


def read_remote_fee_asset(
    app: "Application", source: "Chain", value: object, field: str
) -> "Asset | None":
    """Return the asset of *source* that goes along to pay on the destination, None if *value* names
    none."""
    if has_placeholder(value):
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is a placeholder",
            expected="the id or the symbol of an asset",
        )
    return None if value is None or value == "" else app.assets.find(source, value, field=field)


def known_decimals(asset: "Asset", field: str, value: object) -> int:
    """Return *asset*'s decimals, without which whole tokens mean nothing."""
    if asset.decimals is None:
        raise InvalidRequest(
            field=field,
            value=value,
            problem=(
                f"is in whole tokens, but the decimals of asset {asset.label} are not known here"
            ),
            advice="Send a raw amount like 15000000000raw with `tx transfer`.",
        )
    return asset.decimals
