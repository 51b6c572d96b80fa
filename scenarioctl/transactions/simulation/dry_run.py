"""What a call would do, tried on the chains themselves: the call on its chain, each message on the next.

A source that succeeds proves nothing: every message is followed to the chain it goes to, byte for byte as it is
forwarded.  What a chain does not answer stays open (`Inconclusive`), and is never taken for a yes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import interior, junctions_of, place_of, read_location, write_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.dispatch_errors import explain_balance_error, explain_xcm_error
from scenarioctl.transactions.events import Event, read_event
from scenarioctl.transactions.simulation.fee_charge import call_with_fee, read_charged_run
from scenarioctl.transactions.simulation.runtime_api import (
    Clients,
    Encoded,
    Inconclusive,
    query_runtime_api_result,
)
from scenarioctl.transactions.transfer.bridges import ARRIVING_INSTRUCTIONS, BRIDGE_HUB, arriving_program
from scenarioctl.transactions.transfer.xcm_versions import XCM_VERSIONS, known_xcm_versions, shape_location
from scenarioctl.transactions.xcm_instructions import read_instruction
from scenarioctl.transactions.xcm_programs import (
    Instruction,
    chain_at,
    walk_program,
)

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.fee_charge import FeeCharge

#: A message that goes further than this goes in circles.
MOST_STOPS = 8
#: The events in which a Bridge Hub says that a message to Ethereum is on its way there, by either protocol of Snowbridge.
_QUEUED = ("EthereumOutboundQueue.MessageQueued", "EthereumOutboundQueueV2.MessageQueued")
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
    #: To Ethereum, the VersionedXcm in which the Bridge Hub is asked for that; else empty.
    request: bytes = b""

    @property
    def put_before(self) -> int:
        """The number of instructions that a bridge puts before those of the origin."""
        return ARRIVING_INSTRUCTIONS if self.exported and not self.request else 0

    @property
    def program(self) -> list[Any]:
        """The instructions as a runtime has them."""
        return [name if fields is None else {name: fields} for name, fields in self.instructions]

    def first(self, *names: str) -> Any:
        """Return the fields of the first instruction with one of these *names*; None without one."""
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


async def trace_call(
    clients: Clients,
    registry: "Registry",
    chain: "Chain",
    call: "Call",
    sender: bytes,
    *,
    charge: "FeeCharge | None" = None,
) -> list[DryRunResult]:
    """Return what *call* by *sender* does on *chain*, and then each message that follows from it, in order.

    *charge* is the fee that the chain takes before the call; without it the call is tried as if it cost nothing.
    """
    hops = [await try_call(clients, registry, chain, call, sender, charge)]
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
) -> DryRunResult:
    """Return what *call* by *sender* does on *chain* alone, with the messages that it sends."""
    client = clients(chain)
    data = (await client.table()).encode_call(call)
    charged = await _try_charged(client, registry, call, charge) if charge is not None else None
    # As root the call passes the chain's filter of calls, so it is tried as the sender's own too.
    plain = await _try_plain(client, registry, data, sender)
    if charged is None or plain.failure or plain.unknown:
        return plain
    return replace(charged, spent=plain.spent)


async def _try_plain(client: "Client", registry: "Registry", data: bytes, sender: bytes) -> DryRunResult:
    chain = client.chain
    try:
        table = await client.table()
        effects = await _dry_run_call(client, {"system": {"Signed": sender}}, data)
        events = _events(effects)
        result = effects["execution_result"]
        if "Err" in result:
            reason = explain_balance_error(table, result["Err"]["error"])
            return DryRunResult(
                chain=chain, events=events, failure=f"{chain.name} refuses the call: {reason}"
            )
        sent = _forwarded(table, registry, chain, effects, "dry_run_call")
        return DryRunResult(chain=chain, events=events, sent=sent, spent=result["Ok"])
    except Inconclusive as problem:
        return DryRunResult(chain=chain, unknown=str(problem))


async def _try_charged(
    client: "Client", registry: "Registry", call: "Call", charge: "FeeCharge"
) -> DryRunResult:
    """Try a call with its fee taken, which leaves the call less to spend."""
    chain = client.chain
    where = f"the call could not be simulated on {chain.name} with its fee of {charge.label} taken"
    try:
        table = await client.table()
        effects = await _dry_run_call(client, {"system": "Root"}, call_with_fee(table, call, charge))
        result = effects["execution_result"]
        if "Err" in result:
            reason = explain_balance_error(table, result["Err"]["error"])
            return DryRunResult(chain=chain, unknown=f"{where}: {reason}")
        done = read_charged_run(charge, _events(effects))
        failure = ""
        if done.fee_error is not None:
            failure = f"{chain.name} cannot take the fee of {charge.label} from the sender: {explain_balance_error(table, done.fee_error)}"
        elif done.error is not None:
            failure = f"{chain.name} refuses the call once its fee of {charge.label} is paid: {explain_balance_error(table, done.error)}"
        sent = () if failure else _forwarded(table, registry, chain, effects, "dry_run_call")
        return DryRunResult(chain=chain, events=done.events, failure=failure, sent=sent)
    except InvalidRequest as problem:
        return DryRunResult(chain=chain, unknown=f"{where}: {problem}")
    except Inconclusive as problem:
        return DryRunResult(chain=chain, unknown=str(problem))


async def _dry_run_call(client: "Client", origin: Any, data: bytes) -> Mapping[str, Any]:
    # The origin's own number differs from runtime to runtime: its type tells.
    table = await client.table()
    arguments: tuple[Any, ...] = (origin, Encoded(data))
    if takes_result_version(table):
        arguments += (_result_version(table),)
    return _read_effects(
        client.chain, await query_runtime_api_result(client, "DryRunApi", "dry_run_call", *arguments)
    )


def takes_result_version(table: "RuntimeTable") -> bool:
    """Tell whether a dry run of a call is told the XCM version of its answer: the first DryRunApi wasn't."""
    try:
        return len(table.api_method("DryRunApi", "dry_run_call").inputs) > 2
    except InvalidRequest:
        # The question itself says that the runtime has no such API.
        return True


def write_message(
    origin: "Chain", destination: "Chain", versioned: Mapping[str, Any], table: "RuntimeTable"
) -> XcmMessage:
    """Return *versioned*, a VersionedXcm, as a message that *origin* sends; *table* is the runtime of its destination."""
    ((version, program),) = versioned.items()
    place = place_of(destination, origin)
    number = int(version[1:])
    message_type = table.api_method("DryRunApi", "dry_run_xcm").inputs[1].type_id
    return XcmMessage(
        origin=origin,
        destination=destination,
        place=place,
        location={version: shape_location(read_location(place), number)},
        version=number,
        instructions=tuple(read_instruction(item) for item in program),
        data=table.encode(message_type, versioned),
    )


async def try_message(clients: Clients, registry: "Registry", message: XcmMessage) -> DryRunResult:
    """Return what *message* does on the chain that it goes to, with the messages that follow from it."""
    destination = message.destination
    if destination is None:
        return DryRunResult(
            chain=message.origin,
            message=message,
            unknown=f"{message.origin.name} sends a message to {message.place or 'an unnamed location'}, which is not a chain of the registry",
        )
    if message.request:
        return await _try_export(clients, registry, message, destination)
    client = clients(destination)
    try:
        # What crosses a bridge comes from the Bridge Hub beside the destination.
        sender = f"1/Parachain({BRIDGE_HUB})" if message.exported else _seen_from(message.origin, destination)
        origin = read_location(sender)
        version = {f"V{message.version}": shape_location(origin, message.version)}
        answer = await query_runtime_api_result(
            client, "DryRunApi", "dry_run_xcm", version, Encoded(message.data)
        )
        effects = _read_effects(destination, answer)
        table = await client.table()
        events = _events(effects)
        sent = _forwarded(table, registry, destination, effects, "dry_run_xcm")
    except Inconclusive as problem:
        return DryRunResult(chain=destination, message=message, unknown=str(problem))
    error = _error_of(effects)
    if error is None:
        return DryRunResult(chain=destination, message=message, events=events, sent=sent)
    failure = f"the message fails on {destination.name}: {explain_xcm_error(error)}"
    return DryRunResult(chain=destination, message=message, events=events, failure=failure)


async def _try_export(
    clients: Clients, registry: "Registry", message: XcmMessage, destination: "Chain"
) -> DryRunResult:
    """Return whether the Bridge Hub takes *message* for Ethereum, which is all that can be known of it."""
    try:
        refused = await refused_export(
            clients, registry, message.origin, Encoded(message.request), message.version
        )
    except Inconclusive as problem:
        return DryRunResult(chain=destination, message=message, unknown=str(problem))
    if refused:
        return DryRunResult(chain=destination, message=message, failure=refused)
    unknown = f"the Bridge Hub takes the message for {destination.title} as of now, but no chain here can tell what {destination.title} does with it, minutes to hours later"
    return DryRunResult(chain=destination, message=message, unknown=unknown)


async def refused_export(
    clients: Clients, registry: "Registry", origin: "Chain", request: Any, version: int
) -> str:
    """Return why the Bridge Hub would not queue for Ethereum what *origin*, an Asset Hub, asks it for; "" if it would.

    *request* is a VersionedXcm of the XCM *version*.  Inconclusive if the Bridge Hub doesn't tell.
    """
    hub = registry.parachain(origin, BRIDGE_HUB)
    if hub is None:
        raise Inconclusive(f"the Bridge Hub of {origin.relay} is not in the registry")
    place = shape_location(read_location(_seen_from(origin, hub)), version)
    answer = await query_runtime_api_result(
        clients(hub), "DryRunApi", "dry_run_xcm", {f"V{version}": place}, request
    )
    effects = _read_effects(hub, answer)
    error = _error_of(effects)
    if error is not None:
        return f"the message for Ethereum fails on {hub.name}: {explain_xcm_error(error)}"
    if not any(str(event) in _QUEUED for event in _events(effects)):
        return f"{hub.name} would not queue the message for Ethereum"
    return ""


def _error_of(effects: Mapping[str, Any]) -> Any:
    """Return the error of XCM with which a dry run of a message ended; None if it completed."""
    outcome = effects["execution_result"]
    if "Complete" in outcome:
        return None
    error = next(iter(outcome.values()))["error"]
    # Since XCM V5 it comes with the number of the instruction.
    return error["error"] if isinstance(error, Mapping) and "error" in error else error


def _read_effects(chain: "Chain", effects: Any) -> Mapping[str, Any]:
    wanted = {"execution_result", "emitted_events", "forwarded_xcms"}
    if not isinstance(effects, Mapping) or not wanted <= set(effects):
        raise Inconclusive(f"the DryRunApi of {chain.name} answers in an unknown format")
    return effects


def _result_version(table: "RuntimeTable") -> int:
    return max(known_xcm_versions(table) & set(XCM_VERSIONS), default=XCM_VERSIONS[0])


def _seen_from(origin: "Chain", destination: "Chain") -> str:
    """Return where a message comes from, as its destination sees it."""
    if origin.role == "relay":
        return "1/Here"
    return f"{0 if destination.role == 'relay' else 1}/Parachain({origin.para_id})"


def _events(effects: Mapping[str, Any]) -> tuple[Event, ...]:
    return tuple(map(read_event, effects["emitted_events"]))


def _forwarded(
    table: "RuntimeTable", registry: "Registry", origin: "Chain", effects: Mapping[str, Any], method: str
) -> tuple[XcmMessage, ...]:
    message_type = _message_type(table, method)
    found = []
    for location, messages in effects["forwarded_xcms"]:
        place = write_location(next(iter(location.values())))
        destination = chain_at(registry, origin, place) if place else None
        for message in messages:
            version, instructions = next(iter(message.items()))
            export = _export_of(instructions) if place == f"1/Parachain({BRIDGE_HUB})" else None
            if export is not None:
                found.append(_exported(table, registry, origin, message, export, message_type))
                continue
            found.append(
                XcmMessage(
                    origin=origin,
                    destination=destination,
                    place=place,
                    location=location,
                    version=int(version[1:]),
                    instructions=tuple(read_instruction(item) for item in instructions),
                    data=table.encode(message_type, message),
                )
            )
    return tuple(found)


def _export_of(program: Sequence[Any]) -> Mapping[str, Any] | None:
    """Return what a message to a Bridge Hub has it send over the bridge; None for one that does anything else too."""
    names, fields = zip(*map(read_instruction, program), strict=True)
    if names.count("ExportMessage") != 1 or not _EXPORTING.issuperset(names):
        return None
    export: Mapping[str, Any] = fields[names.index("ExportMessage")]
    return export


def _exported(
    table: "RuntimeTable",
    registry: "Registry",
    origin: "Chain",
    request: Mapping[str, Any],
    export: Mapping[str, Any],
    message_type: int,
) -> XcmMessage:
    """Return the message that *export*, a part of *request*, sends over a bridge, as it should arrive beyond it."""
    version = next(iter(request))
    number = int(version[1:])
    junctions = [{"GlobalConsensus": export["network"]}, *junctions_of({"interior": export["destination"]})]
    location = {"parents": 2, "interior": interior(junctions)}
    place = write_location(location)
    destination = chain_at(registry, origin, place) if place else None
    to_ethereum = destination is not None and destination.is_ethereum
    program = export["xcm"] if to_ethereum else arriving_program(export["xcm"], origin, number)
    return XcmMessage(
        origin=origin,
        destination=destination,
        place=place,
        location={version: shape_location(location, number)},
        version=number,
        instructions=tuple(read_instruction(item) for item in program),
        data=table.encode(message_type, {version: program}),
        exported=table.encode(message_type, {version: export["xcm"]}),
        request=table.encode(message_type, request) if to_ethereum else b"",
    )


def _message_type(table: "RuntimeTable", method: str) -> int:
    """Return the type of one message in `forwarded_xcms`, a list of pairs of a location and messages."""
    types = table.types
    result = types[table.api_method("DryRunApi", method).output_type]
    effects = types[result[3][0][2][0][1]]
    pairs = next(field[1] for field in effects[3] if field[0] == "forwarded_xcms")
    messages = types[types[pairs][3]][3][1]
    return int(types[messages][3])


def read_programs(
    programs: Sequence[Mapping[str, Any]], hops: Sequence["DryRunResult"], registry: "Registry"
) -> list[Instruction]:
    """Return every instruction of *programs*, which the first chain executes, and of the messages of *hops*."""
    found: list[Instruction] = []
    for versioned in programs:
        program = next(iter(versioned.values()))
        found += walk_program(program, registry, chain=hops[0].chain, origin=None, as_chain=False)
    for hop in hops:
        message = hop.message
        if message is not None:
            # What a bridge puts before a message lets it act in the name of its origin, like any other one.
            program = message.program[message.put_before :]
            found += walk_program(program, registry, chain=message.destination, origin=message.origin)
    return found
