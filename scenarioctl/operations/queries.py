"""Reading a chain: its storage, constants and runtime APIs, and the functions of a smart contract
written in ink!."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.amounts import read_number
from scenarioctl.model.json_types import SHOWN, Column, Hex
from scenarioctl.model.request_fields import (
    Block,
    CallParameters,
    ChainName,
    ItemName,
    PalletName,
    Value,
)
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.actions.chain_query import Query
    from scenarioctl.chains.registry import Chain

__all__ = ["contract_info", "query_chain"]


@dataclass(frozen=True, kw_only=True)
class QueryChain:
    """Read a storage item or a constant, or call a runtime API."""

    chain: ChainName
    #: A pallet or a runtime API, in any case.
    pallet_name: PalletName
    #: A storage item or constant of the pallet, or a method of the runtime API.
    method_name: ItemName
    #: Keys of a map, or arguments of a runtime API, as text or JSON. Without all keys: the entries
    #: of the map.
    params: CallParameters = ()
    #: Read at this block, a hash or a number. Default: the newest block.
    block: Block = ""
    #: At most this many entries of a map (default 100, up to 10000).
    limit: Annotated[int | str, Value("NUMBER", least=1, most=10_000)] = 100


class QueryResult(TypedDict):
    #: How many endpoints it rests on: one node is asked, and nobody confirms it. Left out if none
    #: was asked.
    asked: NotRequired[Literal[1]]
    #: Text or a number as it is; everything else as compact JSON with every integer as text.
    result: str
    #: The same as JSON.
    value: Any
    #: The amounts in it in whole tokens, like `free 1.5 DOT`; left out if none is known.
    human: NotRequired[str]


async def query_chain(app: Application, request: QueryChain) -> Result[QueryResult]:
    from scenarioctl.actions.chain_query import ask, read_answer, whole_tokens

    query = read_request(app, request)
    answered = await ask(app, query, limit=entry_limit(request.limit))
    answer: QueryResult = {"result": answered.text, "value": read_answer(answered.text)}
    if not app.settings.offline:
        answer["asked"] = 1
    if human := whole_tokens(app, query, answered.text):
        answer["human"] = human
    return Result(answer=answer, warnings=answered.warnings)


def read_request(app: Application, request: QueryChain) -> "Query":
    """Return the query of *request*, validated as far as possible without a runtime."""
    from scenarioctl.actions.chain_query import Query, parse_block

    for field in ("pallet_name", "method_name"):
        value = getattr(request, field)
        if not isinstance(value, str) or not value.strip():
            raise InvalidRequest(
                field=field,
                value=value,
                problem="is not a name",
                expected="one like System or Account",
            )
    if not isinstance(request.params, (list, tuple)):
        raise InvalidRequest(
            field="params",
            value=request.params,
            problem="is not a list",
            expected="one like [1984]",
        )
    return Query(
        chain=app.registry.find(request.chain),
        pallet_name=request.pallet_name.strip(),
        method_name=request.method_name.strip(),
        params=tuple(request.params),
        block=parse_block(request.block, field="block"),
    )


def entry_limit(value: int | str) -> int:
    """Return the largest number of entries to read."""
    from scenarioctl.transactions.runtime_query import LARGEST_LIMIT

    return read_number(
        value,
        field="limit",
        kind="a number of entries",
        expected=f"1 to {LARGEST_LIMIT}",
        least=1,
        most=LARGEST_LIMIT,
    )


#: Seconds for connecting to the chain of the contract.
OPENING = 2.0
#: The chain that runs contracts of ink! version 6, with pallet-revive.
DEFAULT_CHAIN = "assetHub"


@dataclass(frozen=True, kw_only=True)
class ContractInfo:
    """Describe the callable functions of a deployed contract."""

    #: The contract's metadata.
    abiJson: Any  # noqa: N815 - spelled so in the interface
    #: SS58, or 20 bytes of 0x hex for ink! version 6.
    address: str
    #: The chain to look for it on. Default: assetHub for ink! version 6, else none.
    chain: ChainName = ""


class ContractFunction(TypedDict):
    function_name: Annotated[str, Column("function")]
    #: Four bytes.
    selector: Annotated[Hex, SHOWN]
    mutates: Annotated[bool, SHOWN]
    #: `name: Type` of each argument.
    args: Annotated[list[str], SHOWN]


class ContractDescription(TypedDict):
    sucess: Literal[True]
    description: Annotated[list[ContractFunction], Column("functions")]
    #: Whether a contract lives at the address; null if no chain was asked.
    onchain: Annotated[bool | None, Column("a contract lives at the address")]


async def contract_info(app: Application, request: ContractInfo) -> Result[ContractDescription]:
    from scenarioctl.chains.addresses import ACCOUNT_ID_32, ACCOUNT_KEY_20
    from scenarioctl.contracts import describe_contract, ink_version

    version = ink_version(request.abiJson)
    # 5 MB take half a second.
    messages = await app.aside(describe_contract, request.abiJson)
    form = ACCOUNT_KEY_20 if version >= 6 else ACCOUNT_ID_32
    address = form.parse(request.address, field="address")
    named = request.chain or (DEFAULT_CHAIN if version >= 6 else "")
    onchain, warnings = (
        await _look_for(app, app.registry.find(named), address) if named else (None, ())
    )
    if onchain is False and not request.chain:
        warnings = (
            f"No contract lives at this address on {named}; pass `chain` to look on another chain.",
        )
    description: list[ContractFunction] = [
        {
            "function_name": message.function_name,
            "selector": message.selector,
            "mutates": message.mutates,
            "args": list(message.args),
        }
        for message in messages
    ]
    return Result(
        answer={"sucess": True, "description": description, "onchain": onchain}, warnings=warnings
    )


async def _look_for(
    app: Application, chain: "Chain", address: bytes
) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether a contract lives at *address*; None and a warning if no node answers."""
    from scenarioctl.contracts import is_contract

    if app.settings.offline:
        return None, ()
    client = app.client(chain)
    # The description is what was asked for; it does not wait long for what is known besides.
    client.timeouts = replace(client.timeouts, opening=OPENING)
    try:
        return await is_contract(client, address), ()
    except (ChainUnreachable, ChainRefused) as error:
        return None, (f"Could not check that a contract lives at this address: {error}",)
