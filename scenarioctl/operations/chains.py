"""The known chains: what is known of one, its runtime table, its pallets and runtime APIs, and its
HRMP channels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypedDict

from scenarioctl.application import Application
from scenarioctl.chains.registry import ROLES
from scenarioctl.errors import InvalidRequest, shorten, suggest
from scenarioctl.model.amounts import read_choice, read_number
from scenarioctl.model.json_types import SHOWN, Column, Hex, Timestamp, timestamp
from scenarioctl.model.request_fields import ChainName, Value
from scenarioctl.operations.results import Result
from scenarioctl.transactions.runtime_items import ItemRow, TypeRow

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

__all__ = ["list_chains", "list_pallets", "open_channels", "show_chain"]

SORT_KEYS = ("name", "role", "symbol", "para_id")


@dataclass(frozen=True, kw_only=True)
class ListChains:
    """List the chains of the registry and of config.toml."""

    #: Only `relay`, `asset_hub`, `system`, `dex`, `contracts` or `parachain`.
    role: Annotated[str, Value("ROLE", offers=ROLES)] = ""
    #: Sort by name, role, symbol or para_id. Default: the registry's order.
    sort: Annotated[str, Value("KEY", SORT_KEYS)] = ""


#: `bundled` with the program; `cached` from a node and confirmed; `unconfirmed`, from one node
#: only.
TableSource: TypeAlias = Literal["bundled", "cached", "unconfirmed"]


class ChainRow(TypedDict):
    name: Annotated[str, Column("chain")]
    title: Annotated[str, SHOWN]
    #: `relay`, `asset_hub`, `system`, `dex`, `contracts` or `parachain`.
    role: Annotated[str, SHOWN]
    relay: Annotated[str | None, Column(detail=True)]
    para_id: Annotated[int | None, SHOWN]
    symbol: Annotated[str, Column("native")]
    decimals: Annotated[int, Column(detail=True)]
    ss58_prefix: Annotated[int, Column(detail=True)]
    genesis: Annotated[Hex | None, Column(detail=True)]
    aliases: Annotated[list[str], Column(detail=True)]
    testnet: bool
    #: Why the chain may be closing; null if nothing says so.
    doubt: Annotated[str | None, Column(detail=True)]
    #: The page that shows a transaction, with `{hash}` in place of its hash; null without one.
    explorer: str | None
    #: Of the available runtime table; null without one.
    spec_version: Annotated[int | None, Column("runtime")]
    source: Annotated[TableSource | None, Column("table")]


class ChainList(TypedDict):
    chains: Annotated[list[ChainRow], SHOWN]


@dataclass(frozen=True, kw_only=True)
class ShowChain:
    """Show all that is known of a chain: its identity, endpoints, runtime table, assets and
    routes."""

    chain: ChainName


class RuntimeRow(TypedDict):
    spec_name: Annotated[str, SHOWN]
    spec_version: Annotated[int, SHOWN]
    transaction_version: int
    #: Of the metadata that the table was made from.
    metadata_version: int
    source: Annotated[TableSource, SHOWN]
    #: When it was fetched from a node; null if it is bundled.
    fetched: Annotated[Timestamp | None, SHOWN]


class RouteAsset(TypedDict):
    #: As the chain that sends it names it.
    id: str
    symbol: Annotated[str, SHOWN]


class RouteRow(TypedDict):
    #: The chain at the other end.
    chain: Annotated[str, SHOWN]
    assets: Annotated[list[RouteAsset], SHOWN]


class ChainDetails(ChainRow):
    #: Length of an account in bytes.
    account_bytes: int
    #: Scheme and host of each endpoint, without the path, which may contain a key.
    endpoints: Annotated[list[str], SHOWN]
    #: The runtime table that --offline uses; null if there is none.
    runtime: Annotated[RuntimeRow | None, Column("runtime table")]
    #: Number of known assets.
    assets: Annotated[int, Column("known assets")]
    #: Where assets can be sent from this chain, and from where to it.
    routes_out: Annotated[list[RouteRow], Column("sends to")]
    routes_in: Annotated[list[RouteRow], Column("receives from")]


async def list_chains(app: Application, request: ListChains) -> Result[ChainList]:
    chains = list(app.registry.all())
    if request.role:
        chains = [chain for chain in chains if chain.role == request.role]
        if not chains:
            roles = sorted({each.role for each in app.registry.all()})
            raise InvalidRequest(
                f"no chain has the role {shorten(request.role)}, {suggest(request.role, roles)}"
            ).blame("role")
    rows = [_describe(app, chain) for chain in chains]
    if request.sort:
        key = read_choice(request.sort, field="sort", choices=SORT_KEYS)
        rows.sort(key=lambda row: (row.get(key) is None, row.get(key)))
    return Result(answer={"chains": rows})


async def show_chain(app: Application, request: ShowChain) -> Result[ChainDetails]:
    from scenarioctl.chains.trust import is_beyond_bridge

    chain = app.registry.find_in_path(request.chain)
    others = [
        other
        for other in app.registry.all()
        if other != chain
        and (other.relay == chain.relay or is_beyond_bridge(other, chain, app.registry))
    ]
    table = app.known_runtime(chain)
    return Result(
        answer={
            **_describe(app, chain),
            "account_bytes": chain.account_format.length,
            "endpoints": [shown_endpoint(endpoint) for endpoint in chain.endpoints],
            "runtime": None if table is None else _describe_runtime(table, chain),
            "assets": len(app.assets.all(chain)),
            "routes_out": _routes([(chain, other, other) for other in others], app.assets),
            "routes_in": _routes([(other, chain, other) for other in others], app.assets),
        }
    )


def shown_endpoint(endpoint: str) -> str:
    """Return scheme and host of an endpoint: its path or user may be a key, and a daemon sends this
    to its clients."""
    from urllib.parse import urlsplit

    from scenarioctl.chains.pool import host_of

    return f"{urlsplit(endpoint).scheme}://{host_of(endpoint)}"


def _describe_runtime(table: "RuntimeTable", chain: "Chain") -> RuntimeRow:
    source = source_of(table, chain)
    assert source is not None  # noqa: S101 - there is a table
    return {
        "spec_name": table.spec_name,
        "spec_version": table.spec_version,
        "transaction_version": table.transaction_version,
        "metadata_version": table.metadata_version,
        "source": source,
        "fetched": None if table.written is None else timestamp(int(table.written * 1e9)),
    }


def _routes(ends: list[tuple["Chain", "Chain", "Chain"]], assets: "Assets") -> list[RouteRow]:
    """Return a row for each source, destination and the name of the row's chain between which
    assets go."""
    from scenarioctl.transactions.transfer.routes import can_send

    found: list[RouteRow] = []
    for source, destination, named in ends:
        sent: list[RouteAsset] = [
            {"id": asset.id, "symbol": asset.symbol}
            for asset in assets.all(source)
            if can_send(asset, destination, assets)
        ]
        if sent:
            found.append({"chain": named.name, "assets": sent})
    return found


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
        "doubt": chain.doubt or None,
        "explorer": chain.explorer or None,
        "spec_version": table.spec_version if table else None,
        "source": source_of(table, chain),
    }


@dataclass(frozen=True, kw_only=True)
class ListPallets:
    """List the pallets and runtime APIs of a chain, or describe one of them, or an item of it."""

    chain: ChainName
    #: `Balances`, `Balances.transfer_keep_alive`: a pallet or runtime API, and an item of it.
    #: Default: all of them, without items.
    item: Annotated[str, Value("PALLET[.ITEM]")] = ""


class PalletRow(TypedDict):
    name: Annotated[str, SHOWN]
    index: Annotated[int, SHOWN]
    calls: Annotated[list[str], Column(form="count")]
    storage: Annotated[list[str], Column(form="count")]
    constants: Annotated[list[str], Column(form="count")]


class ApiRow(TypedDict):
    name: Annotated[str, SHOWN]
    methods: Annotated[list[str], SHOWN]


class PalletList(TypedDict):
    chain: str
    spec_name: str
    spec_version: int
    pallets: Annotated[list[PalletRow], SHOWN]
    apis: Annotated[list[ApiRow], Column("runtime APIs")]
    #: The items of the pallet or runtime API, or the one that was named; empty for a list of all
    #: pallets.
    items: Annotated[list[ItemRow], SHOWN]
    #: The types that a named item is made of; empty otherwise.
    types: Annotated[list[TypeRow], SHOWN]


async def list_pallets(app: Application, request: ListPallets) -> Result[PalletList]:
    from scenarioctl.transactions.runtime_items import describe_types, find_items

    chain = app.registry.find_in_path(request.chain)
    pallet, _, name = request.item.strip().partition(".")
    table = await app.runtime(chain)
    pallets: list[str] | tuple[str, ...] = table.pallets
    apis: list[str] | tuple[str, ...] = table.apis
    items: list[ItemRow] = []
    types: list[TypeRow] = []
    if request.item.strip():
        pallets, apis, found = find_items(table, chain, pallet.strip(), name.strip())
        items = [item for item, _ in found]
        if name:
            types = describe_types(table, [type_id for _, of_item in found for type_id in of_item])
    places = table.pallet_indices()
    return Result(
        answer={
            "chain": chain.name,
            "spec_name": table.spec_name,
            "spec_version": table.spec_version,
            "pallets": [
                {
                    "name": each,
                    "index": places[each],
                    "calls": list(table.methods(each)),
                    "storage": list(table.storage_entries(each)),
                    "constants": list(table.constants(each)),
                }
                for each in pallets
            ],
            "apis": [{"name": each, "methods": list(table.api_methods(each))} for each in apis],
            "items": items,
            "types": types,
        },
        warnings=app.runtime_warnings(chain, table),
    )


#: Direction -> what the relay chain keeps of it: who sends to a parachain, and whom it sends to.
DIRECTIONS = {
    "ingress": ("HrmpIngressChannelsIndex",),
    "egress": ("HrmpEgressChannelsIndex",),
    "both": ("HrmpIngressChannelsIndex", "HrmpEgressChannelsIndex"),
}


@dataclass(frozen=True, kw_only=True)
class OpenChannels:
    """List the parachains that have channels open with a parachain."""

    #: The relay chain.
    relay: str
    #: The parachain.
    paraid: int | str
    #: `ingress` (senders to `paraid`), `egress` (its receivers), or `both` (default).
    direction: Annotated[str, Value("WAY", tuple(DIRECTIONS))] = "both"


class Channels(TypedDict):
    #: Ascending.
    open_hrmp_channels: Annotated[list[int], Column("channel")]
    #: The parachain that was asked about.
    sourcechain: int


async def open_channels(app: Application, request: OpenChannels) -> Result[Channels]:
    relay = app.registry.find_in_path(request.relay, field="relay")
    if relay.role != "relay":
        relays = ", ".join(chain.name for chain in app.registry.all() if chain.role == "relay")
        raise InvalidRequest(
            field="relay",
            value=request.relay,
            problem="is not a relay chain, which alone knows of channels",
            expected=f"one of: {relays}",
        )
    paraid = read_number(
        request.paraid,
        field="paraid",
        kind="the number of a parachain",
        expected=f"0 to {2**32 - 1}, like 1000",
        most=2**32 - 1,
    )
    entries = DIRECTIONS[read_choice(request.direction, field="direction", choices=DIRECTIONS)]
    client = app.client(relay)
    wanted = [("Hrmp", entry, (paraid,)) for entry in entries]
    *found, lifecycle = await client.storages([*wanted, ("Paras", "ParaLifecycles", (paraid,))])
    channels = sorted({number for numbers in found for number in numbers})
    warnings: tuple[str, ...] = ()
    if not channels and lifecycle is None:
        warnings = (f"{relay.title} has no parachain {paraid}",)
    return Result(answer={"open_hrmp_channels": channels, "sourcechain": paraid}, warnings=warnings)
