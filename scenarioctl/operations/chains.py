"""The known chains, with the available runtime table of each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, shorten, suggest
from scenarioctl.model.json_types import Hex
from scenarioctl.model.request_values import read_choice
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

__all__ = ["list_chains"]

SORT_KEYS = ("name", "role", "symbol", "para_id")


@dataclass(frozen=True, kw_only=True)
class ListChains:
    """List the chains of the registry and of config.toml."""

    #: Only `relay`, `asset_hub`, `dex`, `contracts` or `parachain`.
    role: str = ""
    #: `name`, `role`, `symbol` or `para_id`. Default: the order of the registry.
    sort: str = ""


#: `bundled` with the program; `cached` from a node and confirmed; `unconfirmed`, from one node only.
TableSource: TypeAlias = Literal["bundled", "cached", "unconfirmed"]


class ChainRow(TypedDict):
    name: str
    title: str
    #: `relay`, `asset_hub`, `dex`, `contracts` or `parachain`.
    role: str
    relay: str | None
    para_id: int | None
    symbol: str
    decimals: int
    ss58_prefix: int
    genesis: "Hex | None"
    aliases: list[str]
    testnet: bool
    #: Of the available runtime table; null without one.
    spec_version: int | None
    source: TableSource | None


class ChainList(TypedDict):
    chains: list[ChainRow]


async def list_chains(app: Application, request: ListChains) -> Result[ChainList]:
    chains = list(app.registry.all())
    if request.role:
        chains = [chain for chain in chains if chain.role == request.role]
        if not chains:
            roles = sorted({each.role for each in app.registry.all()})
            raise InvalidRequest(
                f"no chain has the role {shorten(request.role)}, {suggest(request.role, roles)}"
            )
    rows = [_describe(app, chain) for chain in chains]
    if request.sort:
        key = read_choice(request.sort, field="sort", choices=SORT_KEYS)
        rows.sort(key=lambda row: (row.get(key) is None, row.get(key)))
    return Result(answer={"chains": rows})


def source_of(table: "RuntimeTable | None", chain: "Chain") -> TableSource | None:
    """Return the source of *table*; None without a table."""
    from scenarioctl.runtime.table import load_bundled

    if table is None:
        return None
    if table.told_by:
        return "unconfirmed"
    return "bundled" if table is load_bundled(chain.name) else "cached"


def _describe(app: Application, chain: "Chain") -> ChainRow:
    table = app.known_runtime(chain)
    # No endpoints: their URLs may contain a key, and a daemon sends this to its clients.
    return {
        "name": chain.name,
        "title": chain.title,
        "role": chain.role,
        "relay": chain.relay or None,
        "para_id": chain.para_id,
        "symbol": chain.symbol,
        "decimals": chain.decimals,
        "ss58_prefix": chain.ss58_prefix,
        "genesis": chain.genesis or None,
        "aliases": list(chain.aliases),
        "testnet": chain.testnet,
        "spec_version": table.spec_version if table else None,
        "source": source_of(table, chain),
    }
