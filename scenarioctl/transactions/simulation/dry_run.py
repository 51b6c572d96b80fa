"""What a call would do, tried on the chains themselves: the call on its chain, each message on the
next.

A source that succeeds proves nothing: every message is followed to the chain it goes to, byte for
byte as it is forwarded.  What a chain does not answer stays open (`Inconclusive`), and is never
taken for a yes.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import (
    interior,
    junctions_of,
    place_of,
    read_location,
    write_location,
)
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.blocks import (
    Event,
    explain_balance_error,
    explain_xcm_error,
    read_event,
)
from scenarioctl.transactions.simulation.fees import call_with_fee, read_charged_run
from scenarioctl.transactions.simulation.runtime_api import (
    Clients,
    Encoded,
    Inconclusive,
    query_runtime_api_result,
)
from scenarioctl.transactions.transfer.plan import XCM_VERSIONS, known_xcm_versions, shape_location
from scenarioctl.transactions.transfer.request import (
    ARRIVING_INSTRUCTIONS,
    BRIDGE_HUB,
    arriving_program,
)
from scenarioctl.transactions.xcm_instructions import (
    Instruction,
    chain_at,
    read_instruction,
    walk_program,
)

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.fees import FeeCharge, Left

#: A message that goes further than this goes in circles.
MOST_STOPS = 8
#: What the router of an Asset Hub writes around a message for the chain beyond a bridge.
_EXPORTING = frozenset(
    ("WithdrawAsset", "BuyExecution", "SetAppendix", "UnpaidExecution", "ExportMessage", "SetTopic")
)


@dataclass(frozen=True, kw_only=True)
class XcmMessage:
    """An XCM message on its way."""

    origin: "Chain"
    #: None where it goes to no chain of the registry.
    destination: "Chain | None"
    #: The destination as the origin sees it: as text, and as the runtime has it.
    place: str
    location: Any
    version: int
    instructions: tuple[tuple[str, Any], ...]
    #: The VersionedXcm, exactly as forwarded; over a bridge, as it should arrive.
    data: bytes
    #: Over a bridge, the VersionedXcm that the Bridge Hub is asked to export; else empty.
    exported: bytes = b""

    @property
    def put_before(self) -> int:
        """The number of instructions that a bridge puts before those of the origin."""
        return ARRIVING_INSTRUCTIONS if self.exported else 0

    @property
    def program(self) -> list[Any]:
        """The instructions as a runtime has them."""
        return [name if fields is None else {name: fields} for name, fields in self.instructions]

    def first(self, *names: str) -> Any:
        """Return the fields of the first instruction with one of these *names*; None without
        one."""
        return next((fields for name, fields in self.instructions if name in names), None)


@dataclass(frozen=True, kw_only=True)
class DryRunResult:
    """A chain on the way, and what happened there."""

    chain: "Chain"
    #: What was tried; None for the call itself.
    message: XcmMessage | None = None
    events: tuple[Event, ...] = ()
    #: Why it does not work there; empty where it does.
    failure: str = ""
    #: Why it could not be tried; empty where it could.
    unknown: str = ""
    sent: tuple[XcmMessage, ...] = ()
    #: What the runtime says of the call's own weight (PostDispatchInfo); None if it doesn't.
    spent: Mapping[str, Any] | None = None
    #: What accounts have of the native asset after the call; of those whose call may hold some.
    left: "Mapping[bytes, Left]" = field(default_factory=dict)


async def trace_call(
    clients: Clients,
    registry: "Registry",
    chain: "Chain",
    call: "Call",
    sender: bytes,
    *,
    charge: "FeeCharge | None" = None,
    watched: Sequence[bytes] = (),
) -> list[DryRunResult]:
    """Return what *call* by *sender* does on *chain*, and then each message that follows from it,
    in order.

    *charge* is the fee that the chain takes before the call; without it the call is tried as if it
    cost nothing.  What *watched* accounts have left is told too.
    """
    hops = [await try_call(clients, registry, chain, call, sender, charge, watched)]
    waiting = list(hops[0].sent)
    while waiting:
        message = waiting.pop(0)
        if len(hops) > MOST_STOPS:
            destination = message.destination or message.origin
            hops.append(
                DryRunResult(
                    chain=destination,
                    message=message,
                    unknown=f"its messages pass through more than {MOST_STOPS} chains",
                )
            )
            break
        hop = await try_message(clients, registry, message)
        hops.append(hop)
        waiting += hop.sent
    return hops


async def try_call(
    clients: Clients,
    registry: "Registry",
    chain: "Chain",
    call: "Call",
    sender: bytes,
    charge: "FeeCharge | None" = None,
    watched: Sequence[bytes] = (),
) -> DryRunResult:
    """Return what *call* by *sender* does on *chain* alone, with the messages that it sends."""
    client = clients(chain)
    data = (await client.table()).encode_call(call)
    charged = None
    if charge is not None or watched:
        trying = _try_charged(client, registry, call, sender, charge, watched)
        charged = await _or_unknown(trying, chain)
    # As root the call passes the chain's filter of calls, so it is tried as the sender's own too.
    plain = await _or_unknown(_try_plain(client, registry, data, sender), chain)
    if charged is None or plain.failure or plain.unknown:
        return plain
    return replace(charged, spent=plain.spent)


async def _or_unknown(
    trying: Awaitable[DryRunResult], chain: "Chain", message: XcmMessage | None = None
) -> DryRunResult:
    """Return the result of *trying*; one that is unknown if it is inconclusive."""
    try:
        return await trying
    except Inconclusive as problem:
        return DryRunResult(chain=chain, message=message, unknown=str(problem))


async def _try_plain(
    client: "Client", registry: "Registry", data: bytes, sender: bytes
) -> DryRunResult:
    chain, table = client.chain, await client.table()
    effects = await _dry_run_call(client, {"system": {"Signed": sender}}, data)
    result = effects["execution_result"]
    if "Err" in result:
        reason = explain_balance_error(table, result["Err"]["error"])
        failure = f"{chain.title} refuses the call: {reason}"
        return DryRunResult(chain=chain, events=_events(effects), failure=failure)
    sent = _forwarded(table, registry, chain, effects)
    return DryRunResult(chain=chain, events=_events(effects), sent=sent, spent=result["Ok"])


async def _try_charged(
    client: "Client",
    registry: "Registry",
    call: "Call",
    sender: bytes,
    charge: "FeeCharge | None",
    watched: Sequence[bytes],
) -> DryRunResult:
    """Try a call with its fee taken, which leaves the call less to spend."""
    chain, table = client.chain, await client.table()
    fee = "its fee" if charge is None else f"its fee of {charge.label}"
    where = f"the call could not be simulated on {chain.title} with {fee} taken"
    try:
        effects = await _dry_run_call(
            client, {"system": "Root"}, call_with_fee(table, call, sender, charge, watched)
        )
        result = effects["execution_result"]
        if "Err" in result:
            reason = explain_balance_error(table, result["Err"]["error"])
            return DryRunResult(chain=chain, unknown=f"{where}: {reason}")
        done = read_charged_run(charge, _events(effects), watched)
    except InvalidRequest as problem:
        raise Inconclusive(f"{where}: {problem}") from None
    failure = ""
    if done.fee_error is not None:
        failure = (
            f"{chain.title} cannot take {fee} from the sender: "
            f"{explain_balance_error(table, done.fee_error)}"
        )
    elif done.error is not None:
        failure = (
            f"{chain.title} refuses the call once {fee} is paid: "
            f"{explain_balance_error(table, done.error)}"
        )
    sent = () if failure else _forwarded(table, registry, chain, effects)
    return DryRunResult(chain=chain, events=done.events, failure=failure, sent=sent, left=done.left)


async def _dry_run_call(client: "Client", origin: Any, data: bytes) -> Mapping[str, Any]:
    # The origin's own number differs from runtime to runtime: its type tells.
    versions = known_xcm_versions(await client.table()) & set(XCM_VERSIONS)
    # The first DryRunApi wasn't told the XCM version of its answer.
    newer = (max(versions, default=XCM_VERSIONS[0]),)
    return await _dry_run(client, "dry_run_call", origin, Encoded(data), newer=newer)


async def _dry_run(
    client: "Client", method: str, *arguments: Any, newer: Sequence[Any] = ()
) -> Mapping[str, Any]:
    effects = await query_runtime_api_result(client, "DryRunApi", method, *arguments, newer=newer)
    wanted = {"execution_result", "emitted_events", "forwarded_xcms"}
    if not isinstance(effects, Mapping) or not wanted <= set(effects):
        raise Inconclusive(f"the DryRunApi of {client.chain.title} answers in an unknown format")
    return effects


def write_message(
    origin: "Chain", destination: "Chain", versioned: Mapping[str, Any], table: "RuntimeTable"
) -> XcmMessage:
    """Return *versioned*, a VersionedXcm, as a message that *origin* sends; *table* is the runtime
    of its destination."""
    ((version, program),) = versioned.items()
    number, message_type = int(version[1:]), _message_type(table)
    exported = b""
    if origin.relay != destination.relay:
        exported = table.encode(message_type, versioned)
        versioned = {version: arriving_program(program, origin, number)}
    location = {version: shape_location(read_location(place_of(destination, origin)), number)}
    data = table.encode(message_type, versioned)
    return _message(origin, destination, location, versioned, data, exported=exported)


def _message(
    origin: "Chain",
    destination: "Chain | None",
    location: Mapping[str, Any],
    versioned: Mapping[str, Any],
    data: bytes,
    **more: bytes,
) -> XcmMessage:
    ((version, program),) = versioned.items()
    return XcmMessage(
        origin=origin,
        destination=destination,
        place=write_location(next(iter(location.values()))),
        location=location,
        version=int(version[1:]),
        instructions=tuple(read_instruction(item) for item in program),
        data=data,
        **more,
    )


async def try_message(clients: Clients, registry: "Registry", message: XcmMessage) -> DryRunResult:
    """Return what *message* does on the chain that it goes to, with the messages that follow from
    it."""
    destination = message.destination
    if destination is None:
        return DryRunResult(
            chain=message.origin,
            message=message,
            unknown=(
                f"{message.origin.title} sends a message to "
                f"{message.place or 'an unnamed location'}, which is not a chain of the "
                "registry"
            ),
        )
    trying = _try_message(clients, registry, message, destination)
    return await _or_unknown(trying, destination, message)


async def _try_message(
    clients: Clients, registry: "Registry", message: XcmMessage, destination: "Chain"
) -> DryRunResult:
    client = clients(destination)
    # What crosses a bridge comes from the Bridge Hub beside the destination.
    sender = (
        f"1/Parachain({BRIDGE_HUB})"
        if message.exported
        else _seen_from(message.origin, destination)
    )
    origin = {f"V{message.version}": shape_location(read_location(sender), message.version)}
    effects = await _dry_run(client, "dry_run_xcm", origin, Encoded(message.data))
    events, error = _events(effects), _error_of(effects)
    if error is not None:
        failure = f"the message fails on {destination.title}: {explain_xcm_error(error)}"
        return DryRunResult(chain=destination, message=message, events=events, failure=failure)
    sent = _forwarded(await client.table(), registry, destination, effects)
    return DryRunResult(chain=destination, message=message, events=events, sent=sent)


def _error_of(effects: Mapping[str, Any]) -> Any:
    """Return the error of XCM with which a dry run of a message ended; None if it completed."""
    outcome = effects["execution_result"]
    if "Complete" in outcome:
        return None
    error = next(iter(outcome.values()))["error"]
    # Since XCM V5 it comes with the number of the instruction.
    return error["error"] if isinstance(error, Mapping) and "error" in error else error


def _seen_from(origin: "Chain", destination: "Chain") -> str:
    """Return where a message comes from, as its destination sees it."""
    if origin.role == "relay":
        return "1/Here"
    return f"{0 if destination.role == 'relay' else 1}/Parachain({origin.para_id})"


def _events(effects: Mapping[str, Any]) -> tuple[Event, ...]:
    return tuple(map(read_event, effects["emitted_events"]))


def _forwarded(
    table: "RuntimeTable", registry: "Registry", origin: "Chain", effects: Mapping[str, Any]
) -> tuple[XcmMessage, ...]:
    message_type = _message_type(table)
    found = []
    for location, messages in effects["forwarded_xcms"]:
        place = write_location(next(iter(location.values())))
        destination = chain_at(registry, origin, place) if place else None
        for message in messages:
            program = next(iter(message.values()))
            export = _export_of(program) if place == f"1/Parachain({BRIDGE_HUB})" else None
            if export is not None:
                found.append(_exported(table, registry, origin, message, export, message_type))
            else:
                data = table.encode(message_type, message)
                found.append(_message(origin, destination, location, message, data))
    return tuple(found)


def _export_of(program: Sequence[Any]) -> Mapping[str, Any] | None:
    """Return what a message to a Bridge Hub has it send over the bridge; None for one that does
    anything else too."""
    instructions = [read_instruction(item) for item in program]
    exports: list[Mapping[str, Any]] = [
        fields for name, fields in instructions if name == "ExportMessage"
    ]
    if len(exports) != 1 or not _EXPORTING.issuperset(name for name, _ in instructions):
        return None
    return exports[0]


def _exported(
    table: "RuntimeTable",
    registry: "Registry",
    origin: "Chain",
    request: Mapping[str, Any],
    export: Mapping[str, Any],
    message_type: int,
) -> XcmMessage:
    """Return the message that *export*, a part of *request*, sends over a bridge, as it should
    arrive beyond it."""
    version = next(iter(request))
    number = int(version[1:])
    junctions = [
        {"GlobalConsensus": export["network"]},
        *junctions_of({"interior": export["destination"]}),
    ]
    location = {"parents": 2, "interior": interior(junctions)}
    place = write_location(location)
    destination = chain_at(registry, origin, place) if place else None
    program = arriving_program(export["xcm"], origin, number)
    return _message(
        origin,
        destination,
        {version: shape_location(location, number)},
        {version: program},
        table.encode(message_type, {version: program}),
        exported=table.encode(message_type, {version: export["xcm"]}),
    )


def _message_type(table: "RuntimeTable") -> int:
    """Return the type of a VersionedXcm that a chain gets: one that it sends has the same bytes."""
    return table.api_method("DryRunApi", "dry_run_xcm").inputs[1].type_id


def read_programs(
    programs: Sequence[Mapping[str, Any]], hops: Sequence["DryRunResult"], registry: "Registry"
) -> list[Instruction]:
    """Return every instruction of *programs*, which the first chain executes, and of the messages
    of *hops*."""
    found: list[Instruction] = []
    for versioned in programs:
        program = next(iter(versioned.values()))
        found += walk_program(program, registry, chain=hops[0].chain, origin=None, as_chain=False)
    for hop in hops:
        message = hop.message
        if message is not None:
            # What a bridge puts before a message lets it act in the name of its origin, like any
            # other one.
            program = message.program[message.put_before :]
            found += walk_program(
                program, registry, chain=message.destination, origin=message.origin
            )
    return found
