"""Build any call from arguments that are text: what a chainTx step holds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import fold
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.values import ValueReader

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

#: Pallets whose calls move assets over a reserve of their own choosing.
_CROSS_CHAIN = ("PolkadotXcm", "XcmPallet")
_REFUSED = "XTokens"


def build_call(pallet: object, method: object, params: Mapping[str, object], table: "RuntimeTable") -> Draft:
    """Return the call with its arguments made from text by the runtime's types.

    A text is a number, `true`, an SS58 address, 0x hex, plain text for bytes, a variant's name, or JSON for what
    has parts.  Names are matched without case, `_` and `-`.  InvalidRequest names the parameter, its type and
    what would fit.
    """
    found, name = table.find_call(pallet, method)
    where = f"{found}.{name}"
    if not isinstance(params, Mapping):
        raise InvalidRequest(
            f"params {shorten(params)} is not an object, expected the arguments of {where} by name"
        )
    fields = {fold(field.name): field for field in table.call_fields(found, name)}
    given: dict[str, object] = {}
    for key, value in params.items():
        field = fields.get(fold(str(key)))
        if field is None:
            known = ", ".join(field.name for field in fields.values()) or "none, it takes no arguments"
            raise InvalidRequest(f"{where} has no parameter {shorten(key)}, expected: {known}")
        if field.name in given:
            raise InvalidRequest(f"parameter {field.name} of {where} is given twice, expected it once")
        given[field.name] = value
    arguments: dict[str, Any] = {}
    for field in fields.values():
        reader = ValueReader(table, f"{where}: parameter {field.name}")
        if field.name not in given and not table.types.is_option(field.type_id):
            raise InvalidRequest(
                f"{where}: parameter {field.name} is missing, it is a {table.type_name(field.type_id)}: expected {reader.example(field.type_id)}"
            )
        arguments[field.name] = reader.read(field.type_id, given.get(field.name))
    call = Call(pallet=found, method=name, args=arguments)
    call = table.decode_call(table.encode_call(call))
    return Draft(call=call, warnings=_judge(call))


def _judge(call: Call) -> tuple[str, ...]:
    """Refuse what loses funds by its nature, and return what the signer should know of the rest."""
    pallets = set(_pallets(call.pallet, call.args))
    if _REFUSED in pallets:
        raise InvalidRequest(
            f"{call.pallet}.{call.method}: {_REFUSED} is refused, because it sends DOT over the wrong reserve: use an xTransfer"
        )
    crossing = [pallet for pallet in _CROSS_CHAIN if pallet in pallets]
    if not crossing:
        return ()
    return (
        f"{crossing[0]} moves assets between chains exactly as written: only an xTransfer is checked for the right reserve, and over a wrong one the funds are lost",
    )


def _pallets(pallet: str, args: Any) -> list[str]:
    """Return the pallets of a call and of the calls inside it."""
    found, stack = [pallet], [args]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            found.extend(key for key in value if key == _REFUSED or key in _CROSS_CHAIN)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return found
