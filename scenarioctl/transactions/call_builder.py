"""Build any call from text, batches of calls, and the calls that a signer makes for others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import XCM_PALLETS
from scenarioctl.errors import InvalidRequest, fold, shorten, suggest
from scenarioctl.model.acting import MultisigLayer, ProxyLayer
from scenarioctl.model.calls import BATCHES, Call
from scenarioctl.transactions.extrinsic import Draft
from scenarioctl.transactions.inner_calls import held_values, read_call, walk_calls
from scenarioctl.transactions.trades import warn_of_order
from scenarioctl.transactions.values import ValueReader

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable


#: The part of a block's limit that a transaction may fill: a fuller one waits for an empty block.
_SHARE = 0.75
#: Calls of a transaction whose weight no chain tells. Six hundred transfers of an asset fill a
#: block of an Asset Hub.
UNWEIGHED = 400
#: What a signature, and what is signed beside the call, adds to its length.
_SIGNED = 300


@dataclass(frozen=True, kw_only=True)
class BatchLimits:
    """The limits of a transaction."""

    #: In bytes.
    length: int
    calls: int
    #: Of reference time and of proof size; none where the runtime doesn't say.
    weight: Mapping[str, int]

    def share(self, *, length: int, calls: int, weight: Mapping[str, Any] | None) -> float:
        """Return which part of the limits a transaction takes: one above 1 is too large. Without a
        *weight*, its calls are counted."""
        parts = [(length + _SIGNED) / self.length, calls / self.calls]
        if weight is None:
            return max(*parts, calls / UNWEIGHED)
        return max(*parts, *(int(weight[name]) / most for name, most in self.weight.items()))


def read_limits(table: "RuntimeTable") -> BatchLimits:
    """Return the limits of a transaction on the runtime *table*, whose calls are of the class
    `normal`."""
    weights, lengths = (
        table.constant("System", "BlockWeights"),
        table.constant("System", "BlockLength"),
    )
    weight = weights["per_class"]["normal"]["max_extrinsic"] or {}
    try:
        most = int(table.constant("Utility", "batched_calls_limit"))
    except InvalidRequest:
        most = UNWEIGHED
    return BatchLimits(
        length=int(lengths["max"]["normal"] * _SHARE),
        calls=most,
        weight={name: max(int(value * _SHARE), 1) for name, value in weight.items()},
    )


_REFUSED = "XTokens"
#: Pallets that an Asset Hub has once its relay chain has the pallet StakingAhClient.
_MOVED_WITH_STAKING = {"Staking", "NominationPools"}
_BATCH_ALL = ("Utility", "batch_all")
#: Calls that make the calls inside them with their own origin, so with the filter that is on it.
_SAME_ORIGIN = {
    *(("Utility", name) for name in (*BATCHES.values(), "if_else", "as_derivative")),
    ("Dispatcher", "dispatch_with_extra_gas"),
}
#: Calls that make the call inside them as another account, whose origin has no filter yet.
_NEW_ORIGIN = {
    *(("Proxy", name) for name in ("proxy", "proxy_announced")),
    *(("Multisig", name) for name in ("as_multi", "as_multi_threshold_1")),
    ("Recovery", "as_recovered"),
}


def build_call(
    pallet: object,
    method: object,
    params: "Mapping[str, object] | Sequence[object]",
    table: "RuntimeTable",
) -> Draft:
    """Return the call with its arguments, by name or in their order, made from text by the
    runtime's types.

    A text is a number, `true`, an SS58 address, 0x hex, plain text for bytes, a variant's name, or
    JSON for what has parts.  Names are matched without case, `_` and `-`.  InvalidRequest names the
    parameter, its type and what would fit.
    """
    found, name = table.find_call(pallet, method)
    where = f"{found}.{name}"
    if isinstance(params, (list, tuple)):
        params = _by_name(table, found, name, params)
    if not isinstance(params, Mapping):
        raise InvalidRequest(
            field="params",
            value=params,
            problem="is not an object",
            expected=f"the arguments of {where} by name",
        )
    fields = {fold(field.name): field for field in table.call_fields(found, name)}
    given: dict[str, object] = {}
    for key, value in params.items():
        field = fields.get(fold(str(key)))
        if field is None:
            known = (
                ", ".join(field.name for field in fields.values()) or "none, it takes no arguments"
            )
            raise InvalidRequest(
                field=where, problem=f"has no parameter {shorten(key)}, expected: {known}"
            )
        if field.name in given:
            raise InvalidRequest(
                f"parameter {field.name} of {where} is given twice, expected it once"
            )
        given[field.name] = value
    arguments: dict[str, Any] = {}
    for field in fields.values():
        reader = ValueReader(table, f"{where}: parameter {field.name}")
        if field.name not in given and not table.types.is_option(field.type_id):
            raise InvalidRequest(
                field=where,
                problem=(
                    f": parameter {field.name} is missing, it is a {table.type_name(field.type_id)}"
                ),
                expected=f"{reader.example(field.type_id)}",
            )
        arguments[field.name] = reader.read(field.type_id, given.get(field.name))
    call = Call(pallet=found, method=name, args=arguments)
    call = table.decode_call(table.encode_call(call))
    return Draft(call=call, warnings=_judge(call, table))


def _by_name(
    table: "RuntimeTable", pallet: str, method: str, arguments: Sequence[object]
) -> dict[str, object]:
    """Return *arguments*, given in their order, by name; those at the end that may be missing can
    be left out."""
    fields = table.call_fields(pallet, method)
    needed = [
        place
        for place, field in enumerate(fields, start=1)
        if not table.types.is_option(field.type_id)
    ]
    least = needed[-1] if needed else 0
    if not least <= len(arguments) <= len(fields):
        raise InvalidRequest(
            f"{pallet}.{method} got {len(arguments)} "
            f"argument{'s' * (len(arguments) != 1)}, expected "
            f"{list_arguments(table, pallet, method)}"
        )
    return {field.name: given for field, given in zip(fields, arguments, strict=False)}


def list_arguments(table: "RuntimeTable", pallet: str, method: str) -> str:
    """Return the arguments of a call with their types: `2: dest (MultiAddress<…>), value
    (Compact<u128>)`."""
    fields = table.call_fields(pallet, method)
    listed = ", ".join(f"{field.name} ({table.type_name(field.type_id)})" for field in fields)
    return f"{len(fields)}: {listed}" if fields else "none"


def build_batch(kind: str, calls: Sequence[Call], table: "RuntimeTable") -> Draft:
    """Return *calls* in one call of the pallet Utility; *kind* is a key of `BATCHES`.

    The calls of a batch of that kind are joined with the others; one of another kind is refused.
    """
    _, method = table.find_call("Utility", BATCHES[kind])
    flat: list[dict[str, Any]] = []
    for place, call in enumerate(calls, start=1):
        if call.pallet != "Utility" or call.method not in BATCHES.values():
            flat.append(nest(call))
        elif call.method == method:
            flat += call.args["calls"]
        else:
            raise InvalidRequest(
                f"call {place} of the batch is a Utility.{call.method}, and a Utility.{method} "
                "treats calls that fail in another way: sign it alone, or join its calls"
            )
    if "batched_calls_limit" in table.constants("Utility"):
        limit = table.constant("Utility", "batched_calls_limit")
        if len(flat) > limit:
            raise InvalidRequest(
                field="calls",
                problem=f"has {len(flat)} calls",
                expected=f"at most {limit}: {table} takes no more in a batch",
            )
    batch = Call(pallet="Utility", method=method, args={"calls": flat})
    return Draft(call=batch, warnings=_judge(batch, table))


def join_calls(kind: str, calls: Sequence[Call], table: "RuntimeTable") -> Draft:
    """Return one call as it is, and several in a batch."""
    return Draft(call=calls[0]) if len(calls) == 1 else build_batch(kind, calls, table)


def nest(call: Call) -> dict[str, Any]:
    """Return *call* as a value inside another one."""
    return {call.pallet: {call.method: call.args} if call.args else call.method}


def refuse_nested(call: Call, table: "RuntimeTable", *, filtered: bool = False) -> None:
    """Refuse a *call* with a batch_all inside a batch_all, which is *filtered* there.

    Source: pallet-utility's batch_all, whose filter stays on the origin of all that is inside.
    """
    name = (call.pallet, call.method)
    if filtered and name == _BATCH_ALL:
        raise InvalidRequest(
            f"{table} runs no Utility.batch_all inside another one (System.CallFiltered): put its "
            "calls into the outer one"
        )
    if name in _SAME_ORIGIN | _NEW_ORIGIN:
        filtered = name == _BATCH_ALL or (filtered and name in _SAME_ORIGIN)
        for held in held_values(call, table):
            refuse_nested(read_call(held.value), table, filtered=filtered)


def _judge(call: Call, table: "RuntimeTable") -> tuple[str, ...]:
    """Refuse what loses funds by its nature, and return what the signer should know of the rest."""
    refuse_nested(call, table)
    calls = [found.call for found in walk_calls(call, table)]
    pallets = {each.pallet for each in calls}
    if _REFUSED in pallets:
        raise InvalidRequest(
            f"{call.pallet}.{call.method}: {_REFUSED} is refused, because it sends DOT "
            "over the wrong reserve: use an xTransfer"
        )
    warnings = [said for each in calls for said in warn_of_order(each)]
    if pallets & _MOVED_WITH_STAKING and "StakingAhClient" in table.pallets:
        warnings.append(
            f"staking is moving from relay chains to their Asset Hubs, and {table} is a "
            "relay chain's runtime: once it has moved, build this call for the Asset Hub"
        )
    crossing = [pallet for pallet in XCM_PALLETS if pallet in pallets]
    if crossing:
        warnings.append(
            f"{crossing[0]} moves assets between chains exactly as written: only an "
            "xTransfer is checked for the right reserve, and over a wrong one the funds "
            "are lost"
        )
    return tuple(warnings)


#: More than a block's length limit lets through on any chain.
MAX_BYTES = 3 * 1024 * 1024


def build_remark(text: str | bytes, *, plain: bool = False) -> Draft:
    """Return the call that records *text*: with an event that others can find, or *plain*,
    without."""
    try:
        data = text.encode("utf-8") if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError:
        raise InvalidRequest(
            field="remark",
            value=text,
            problem="contains half a character (a lone surrogate)",
            expected="text",
        ) from None
    if not data:
        raise InvalidRequest(field="remark", problem="is empty", expected="a text")
    if len(data) > MAX_BYTES:
        raise InvalidRequest(
            field="remark", problem=f"is {len(data)} bytes long", expected=f"at most {MAX_BYTES}"
        )
    return Draft(
        call=Call(
            pallet="System",
            method="remark" if plain else "remark_with_event",
            args={"remark": data},
        )
    )


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
