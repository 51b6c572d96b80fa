"""Ask a chain's runtime during a simulation: what it does not answer is `Inconclusive`, and never taken for a yes."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.rpc_errors import NodeError
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: How a chain is asked: `app.client`.
Clients = Callable[["Chain"], "Client"]


class Inconclusive(Exception):
    """A question that a chain did not answer, in a sentence."""


class Encoded(bytes):
    """An argument that is SCALE already, and goes to the runtime as it stands."""


async def query_runtime_api(
    client: "Client", api: str, method: str, *arguments: Any, newer: Sequence[Any] = ()
) -> Any:
    """Return the decoded answer of a runtime API; Inconclusive says why there is none.

    Only *newer* versions of the API are given the arguments of that name too.
    """
    chain = client.chain.name
    table = await read_table(client)
    try:
        described = table.api_method(api, method)
    except InvalidRequest:
        raise Inconclusive(f"the runtime {table} of {chain} has no {api}_{method}") from None
    name = f"{described.api}_{described.name}"
    arguments = (*arguments, *newer[: len(described.inputs) - len(arguments)])
    if len(arguments) != len(described.inputs):
        raise Inconclusive(
            f"{name} of {chain} takes {len(described.inputs)} parameters, expected {len(arguments)}"
        )
    try:
        data = b"".join(
            value if isinstance(value, Encoded) else table.encode(field.type_id, value)
            for field, value in zip(described.inputs, arguments, strict=True)
        )
    except InvalidRequest as error:
        raise Inconclusive(f"{name} of {chain} takes parameters of other types: {error}") from None
    try:
        return await client.raw_runtime_call(name, data, described.output_type)
    except NodeError as error:
        raise Inconclusive(
            f"{name} of {chain} failed on the node: {error.message} ({error.number})"
        ) from None
    except ChainUnreachable as error:
        raise Inconclusive(str(error)) from None
    except InvalidRequest as error:
        raise Inconclusive(f"{name} of {chain} returned an answer that cannot be decoded: {error}") from None


async def query_runtime_api_result(
    client: "Client", api: str, method: str, *arguments: Any, newer: Sequence[Any] = ()
) -> Any:
    """Return what is in the `Ok` of a runtime API's Result; Inconclusive names what is in its `Err`."""
    answer = await query_runtime_api(client, api, method, *arguments, newer=newer)
    if not isinstance(answer, Mapping) or set(answer) not in ({"Ok"}, {"Err"}):
        raise Inconclusive(f"{api}_{method} of {client.chain.name} did not return a Result")
    if "Err" in answer:
        raise Inconclusive(f"{api}_{method} of {client.chain.name} returned the error {answer['Err']}")
    return answer["Ok"]


async def read_storage(client: "Client", pallet: str, entry: str, *keys: Any) -> Any:
    """Return a decoded storage entry; Inconclusive says why there is none."""
    try:
        return await client.storage(pallet, entry, *keys)
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        raise Inconclusive(f"{pallet}.{entry} of {client.chain.name} could not be read: {error}") from None


async def read_table(client: "Client") -> "RuntimeTable":
    """Return the runtime's table; Inconclusive if the chain doesn't tell."""
    try:
        return await client.table()
    except (ChainUnreachable, ChainRefused) as error:
        raise Inconclusive(str(error)) from None


async def read_constant(client: "Client", pallet: str, name: str) -> Any:
    """Return a decoded constant of the runtime; Inconclusive says why there is none."""
    try:
        return (await read_table(client)).constant(pallet, name)
    except InvalidRequest as error:
        raise Inconclusive(f"{pallet}.{name} of {client.chain.name} could not be read: {error}") from None
