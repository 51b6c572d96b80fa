"""Calls around a call: what a signer sends so that a multisig or a proxied account makes it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, suggest
from scenarioctl.model.acting import MultisigLayer, ProxyLayer
from scenarioctl.model.calls import Call
from scenarioctl.transactions.call_builder import nest

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

#: Of a call that only opens an operation: nothing is run, so nothing is weighed.
NO_WEIGHT = {"ref_time": 0, "proof_size": 0}


def proxy_call(call: Call, layer: ProxyLayer, table: "RuntimeTable") -> Call:
    """Return what a proxy of *layer* signs, so that the proxied account makes *call*."""
    pallet, method = table.find_call("Proxy", "proxy")
    fields = {field.name: field.type_id for field in table.call_fields(pallet, method)}
    kind = read_proxy_type(layer.type, table) if layer.type else None
    takes_address = table.types[fields["real"]][0].endswith("MultiAddress")
    real = {"Id": layer.real} if takes_address else layer.real
    arguments = {"real": real, "force_proxy_type": kind, "call": nest(call)}
    return Call(pallet=pallet, method=method, args=arguments)


def _proxy_type_id(table: "RuntimeTable") -> int:
    pallet, method = table.find_call("Proxy", "add_proxy")
    (type_id,) = [
        field.type_id for field in table.call_fields(pallet, method) if field.name == "proxy_type"
    ]
    return type_id


def proxy_types(table: "RuntimeTable") -> list[str]:
    """Return the types of proxies that a runtime knows, in its order."""
    return [str(name) for name, *_ in table.types[_proxy_type_id(table)][3]]


def encode_proxy_type(text: str, table: "RuntimeTable") -> bytes:
    """Return the type of proxy that *text* names, as the runtime encodes it."""
    return table.encode(_proxy_type_id(table), read_proxy_type(text, table))


def read_proxy_type(text: str, table: "RuntimeTable") -> str:
    """Return the type of proxy that *text* names; InvalidRequest lists those of the runtime."""
    known = proxy_types(table)
    found = next((each for each in known if each.lower() == text.lower()), None)
    if found is None:
        raise InvalidRequest(
            field="type",
            value=text,
            problem=f"is no type of proxy of {table}, {suggest(text, known)}",
        )
    return found


def others(layer: MultisigLayer, signatory: bytes) -> list[bytes]:
    """Return the signatories of a multisig beside *signatory*, in the order that the pallet
    wants."""
    return [each for each in layer.signatories if each != signatory]


def multisig_call(
    call: Call,
    layer: MultisigLayer,
    signatory: bytes,
    table: "RuntimeTable",
    *,
    timepoint: Mapping[str, Any] | None = None,
    weight: Mapping[str, int] | None = None,
) -> Call:
    """Return what *signatory* signs, so that the multisig makes *call*.

    *timepoint* is that of the operation if it is open already; *weight* is what the call may take
    at most, which counts only once enough have approved.
    """
    if layer.threshold == 1:
        pallet, method = table.find_call("Multisig", "as_multi_threshold_1")
        alone = {"other_signatories": others(layer, signatory), "call": nest(call)}
        return Call(pallet=pallet, method=method, args=alone)
    pallet, method = table.find_call("Multisig", "as_multi")
    arguments = {
        "threshold": layer.threshold,
        "other_signatories": others(layer, signatory),
        "maybe_timepoint": timepoint,
        "call": nest(call),
        "max_weight": weight or NO_WEIGHT,
    }
    return Call(pallet=pallet, method=method, args=arguments)


def approve_hash_call(
    call_hash: bytes,
    layer: MultisigLayer,
    signatory: bytes,
    table: "RuntimeTable",
    timepoint: Mapping[str, Any],
) -> Call:
    """Return what *signatory* signs to approve a call of which only the hash is known: it runs
    nothing."""
    more = {"maybe_timepoint": timepoint, "max_weight": NO_WEIGHT}
    return _hash_call("approve_as_multi", call_hash, layer, signatory, table, more)


def cancel_call(
    call_hash: bytes,
    layer: MultisigLayer,
    signatory: bytes,
    table: "RuntimeTable",
    timepoint: Mapping[str, Any],
) -> Call:
    """Return what the signatory who opened an operation signs to cancel it, and to get the deposit
    back."""
    return _hash_call(
        "cancel_as_multi", call_hash, layer, signatory, table, {"timepoint": timepoint}
    )


def _hash_call(
    method: str,
    call_hash: bytes,
    layer: MultisigLayer,
    signatory: bytes,
    table: "RuntimeTable",
    more: Mapping[str, Any],
) -> Call:
    pallet, method = table.find_call("Multisig", method)
    arguments = {"threshold": layer.threshold, "other_signatories": others(layer, signatory)}
    return Call(pallet=pallet, method=method, args={**arguments, "call_hash": call_hash, **more})
