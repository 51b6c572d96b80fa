"""What an account holds, on one chain or on all of them."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import (
    ChainRefused,
    ChainUnreachable,
    InvalidRequest,
    ScenarioctlError,
)
from scenarioctl.model.json_types import SHOWN, Column, Digits, Hex
from scenarioctl.model.request_fields import Address, Value
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.addresses import AccountFormat
    from scenarioctl.chains.confirmation import Clients, Confirmed
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.balances import AssetHolding, Holdings

__all__ = ["read_balances"]


@dataclass(frozen=True, kw_only=True)
class ReadBalances:
    """Read what an account holds of every known asset, as the chains have it now."""

    #: SS58 with any prefix, the public key in hex, or a name of the address book.
    address: Address
    #: Chains to ask. Default: the relay chains, their system parachains and Hydration, and the
    #: chains of config.toml; for an account of 20 bytes, all chains with such accounts.
    chains: Annotated[tuple[str, ...], Value("CHAIN", called=("chain",))] = ()
    #: Also list the assets of which the account holds nothing.
    zero: bool = False


class Balance(TypedDict):
    value: "Digits"
    #: `1.5 DOT`; null if the asset's decimals are unknown.
    human: str | None


class BalanceRow(TypedDict):
    chain: Annotated[str, SHOWN]
    #: The asset's id on this chain.
    asset: str
    #: Its symbol, with a mark if it is not the canonical asset of that symbol.
    name: Annotated[str, Column("asset")]
    #: Null if unknown.
    decimals: int | None
    #: This and the next four: null if unknown, never zero.
    free: Annotated[Balance | None, Column(form="unknown")]
    reserved: Annotated[Balance | None, Column(form="unknown")]
    #: What locks and freezes keep, as the chain stores it; on most chains reserved tokens count
    #: towards it.
    frozen: Annotated[Balance | None, Column(form="unknown")]
    #: What the account can send if it may be closed by that.
    transferable: Annotated[Balance | None, Column(form="unknown")]
    #: What the account can send and stay alive.
    transferable_keep_alive: Balance | None
    #: Why something is unknown or can't be sent; null otherwise.
    reason: Annotated[str | None, Column("note")]


class ReadChain(TypedDict):
    chain: str
    #: The block that was read; null if the chain could not be read.
    block: int | None
    block_hash: "Hex | None"
    #: How many endpoints told the same: 2 if a second one of the chain confirms the first, else 1;
    #: null if it could not be read.
    asked: Literal[1, 2] | None
    #: Why the chain could not be read; null if it was.
    error: str | None


class AccountBalances(TypedDict):
    #: The public key, or the account of 20 bytes.
    account: "Hex"
    chains: list[ReadChain]
    balances: Annotated[list[BalanceRow], SHOWN]


async def read_balances(app: Application, request: ReadBalances) -> Result[AccountBalances]:
    account, chains = _read_request(app, request)
    if app.settings.offline:
        raise ChainUnreachable("balances can't be read offline", advice=app.settings.online_advice)
    found = await asyncio.gather(*(_read_chain(app, chain, account) for chain in chains))
    errors = [each for each in found if isinstance(each, ScenarioctlError)]
    if len(errors) == len(found):
        if len(found) == 1:
            raise errors[0]
        names = ", ".join(chain.title for chain in chains)
        raise ChainUnreachable(f"none of {names} could be read; {chains[0].title}: {errors[0]}")
    read: list[ReadChain] = []
    rows: list[BalanceRow] = []
    alone: list[str] = []
    for chain, each in zip(chains, found, strict=True):
        if isinstance(each, ScenarioctlError):
            row: ReadChain = {
                "chain": chain.name,
                "block": None,
                "block_hash": None,
                "asked": None,
                "error": str(each),
            }
        else:
            held = each.answer
            row = {
                "chain": chain.name,
                "block": held.block,
                "block_hash": held.block_hash,
                "asked": each.asked,
                "error": None,
            }
            rows += [_describe(one) for one in held.holdings if request.zero or _is_shown(one)]
            alone += each.alone
        read.append(row)
    from scenarioctl.chains.confirmation import say_alone

    return Result(
        answer={"account": "0x" + account.hex(), "chains": read, "balances": rows},
        notes=say_alone(alone),
    )


def _read_request(app: Application, request: ReadBalances) -> tuple[bytes, list["Chain"]]:
    """Return the account, and the chains to ask, none twice."""
    from scenarioctl.chains.addresses import format_of

    address = request.address.strip()
    if request.chains:
        chains = list(dict.fromkeys(app.registry.find(name) for name in request.chains))
        accounts = {chain.account_format.parse(address, field="address") for chain in chains}
        if len(accounts) == 1:
            return accounts.pop(), chains
    written = format_of(address)
    account = written.parse(address, field="address")
    chains = usual_chains(app, written)
    if not chains:
        raise InvalidRequest(
            field="address",
            value=address,
            limit=80,
            problem=f"has {len(account)} bytes, and no known chain has such accounts",
        )
    return account, chains


def usual_chains(app: Application, written: "AccountFormat") -> list["Chain"]:
    """Return the chains with accounts of that format that are asked where none is named."""
    chains = [
        chain
        for chain in app.registry.all()
        if chain.account_format is written and chain.endpoints and not _is_test_network(chain)
    ]
    # The other parachains are asked where they are named: some of them answer rarely.
    usual = [chain for chain in chains if not (chain.role == "parachain" and _is_built_in(chain))]
    return usual or chains


def _is_test_network(chain: "Chain") -> bool:
    """Tell whether *chain* is a built-in test network; one of config.toml is there because somebody
    wants it."""
    return chain.testnet and _is_built_in(chain)


def _is_built_in(chain: "Chain") -> bool:
    from scenarioctl.chains.registry import CHAINS

    return chain.name in {each.name for each in CHAINS}


async def _read_chain(
    app: Application, chain: "Chain", account: bytes
) -> "Confirmed[Holdings] | ScenarioctlError":
    from scenarioctl.chains.confirmation import confirm
    from scenarioctl.transactions.balances import read_holdings

    def ask(clients: "Clients") -> Awaitable["Holdings"]:
        return read_holdings(clients(chain), app.assets, account)

    try:
        found = await confirm(app.pool, ask)
        found.agreed()
        return found
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        return error


def _is_shown(holding: "AssetHolding") -> bool:
    """Tell whether a holding is shown unless all are: the native one always, and what is
    unknown."""
    return holding.asset.kind == "native" or holding.figures is None or not holding.figures.is_zero


def _describe(holding: "AssetHolding") -> BalanceRow:
    asset, figures = holding.asset, holding.figures

    def amount(name: str) -> Any:
        raw = getattr(figures, name, None)
        if raw is None:
            return None
        return {"value": str(raw), "human": None if asset.decimals is None else asset.amount(raw)}

    return {
        "chain": asset.chain,
        "asset": asset.id,
        "name": asset.display_name,
        "decimals": asset.decimals,
        "free": amount("free"),
        "reserved": amount("reserved"),
        "frozen": amount("frozen"),
        "transferable": amount("transferable"),
        "transferable_keep_alive": amount("transferable_keep_alive"),
        "reason": holding.reason or None,
    }
