"""Whether a transaction drafted for an older runtime means the same to the current one."""

from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.scale import decode_compact
from scenarioctl.transactions.drafts import bare_extrinsic

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

_ANEW = "draft it again"


def explain_incompatibility(
    old: "RuntimeTable | None", new: "RuntimeTable", tx: str, *, spec_version: int
) -> str:
    """Return why *tx*, a bare extrinsic of version *spec_version* in 0x hex, must be drafted anew;
    empty where it need not.

    The call that the *old* table reads in it has to have the same bytes by the *new* one: then
    pallets, methods, arguments and variants of the same names stand at the same places.
    """
    from scenarioctl.transactions.extrinsic import decode_extrinsic

    if new.spec_version == spec_version:
        return ""
    if old is None:
        return (
            f"it was drafted for version {spec_version}, whose runtime table is no longer "
            f"available to compare with {new}: {_ANEW}"
        )
    try:
        data = bytes.fromhex(tx.removeprefix("0x"))
        call = decode_extrinsic(old, data).call
    except (InvalidRequest, ValueError):
        return f"it was drafted for {old}, which cannot read it: {_ANEW}"
    name = f"{call.pallet}.{call.method}"
    if not new.has_call(call.pallet, call.method):
        return f"it was drafted for {old}, but {new} no longer has the call {name}: {_ANEW}"
    try:
        again = bare_extrinsic(new.encode_call(call))
    except InvalidRequest as error:
        return f"it was drafted for {old}, but {new} does not accept it ({error}): {_ANEW}"
    if again == data:
        return ""
    return (
        f"it was drafted for {old}, but {new} encodes {name} "
        f"differently{_difference(data, again)}: {_ANEW}"
    )


def _difference(data: bytes, again: bytes) -> str:
    """Return how the index of the call has changed, where it is that."""
    before, now = _index(data), _index(again)
    return f" (its index was 0x{before.hex()} and is 0x{now.hex()})" if before != now else ""


def _index(extrinsic: bytes) -> bytes:
    """Return the indices of pallet and method, which stand after the length and the version."""
    _, start = decode_compact(extrinsic, 0)
    return extrinsic[start + 1 : start + 3]
