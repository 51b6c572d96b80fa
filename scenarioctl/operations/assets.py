"""The assets that scenarioctl knows, chain by chain.  No node is asked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, NotFound, suggest
from scenarioctl.model.json_types import SHOWN, Column, Digits
from scenarioctl.model.request_fields import ChainName
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain

__all__ = ["list_assets", "show_asset"]


@dataclass(frozen=True, kw_only=True)
class ListAssets:
    """List the known assets of a chain, or of all chains."""

    #: Only this chain.
    chain: ChainName = ""
    #: Only assets whose symbol means them: no look-alikes, and none whose symbol is not verified.
    canonical: bool = False


@dataclass(frozen=True, kw_only=True)
class ShowAsset:
    """Show an asset on every chain that has one of that name, or on one chain."""

    #: An id, a symbol, `native`, or a location like `1/Here`.
    asset: str
    #: Only this chain.
    chain: ChainName = ""


#: The pallet or contract that keeps it: Balances, Assets, ForeignAssets, Tokens, or an ERC-20
#: contract.
AssetKind: TypeAlias = Literal["native", "assets", "foreign", "tokens", "erc20"]


class AssetRow(TypedDict):
    chain: Annotated[str, SHOWN]
    #: As requests take it; on an Asset Hub, the native asset's is its symbol.
    id: Annotated[str, SHOWN]
    #: Empty if unknown.
    symbol: Annotated[str, SHOWN]
    name: str
    #: Null if unknown: then only raw amounts can be used.
    decimals: Annotated[int | None, SHOWN]
    kind: AssetKind
    #: In XCM, as its chain sees it, like `1/Here`; null if unknown.
    location: Annotated[str | None, SHOWN]
    #: The chain that backs it; null if that is not a known chain.
    reserve: Annotated[str | None, SHOWN]
    #: The smallest balance that an account can hold, in the smallest unit; null if unknown.
    existential_deposit: Annotated[Digits | None, SHOWN]
    #: Whether the chain takes fees in it; null if unknown.
    pays_fees: Annotated[bool | None, SHOWN]
    #: Whether its symbol means this asset on its chain.
    canonical: Annotated[bool, SHOWN]
    #: Why its symbol means another asset or none, like `not the native DOT`; null if canonical.
    mark: Annotated[str | None, SHOWN]


class AssetName(TypedDict):
    chain: Annotated[str, SHOWN]
    id: Annotated[str, SHOWN]
    symbol: str


class AssetDetails(AssetRow):
    #: The same asset as other chains hold it.
    elsewhere: Annotated[list[AssetName], SHOWN]
    #: Chains to which it can be sent.
    sends_to: Annotated[list[str], Column("can be sent to")]


class AssetList(TypedDict):
    assets: Annotated[list[AssetRow], SHOWN]


class ShownAssets(TypedDict):
    assets: Annotated[list[AssetDetails], SHOWN]


async def list_assets(app: Application, request: ListAssets) -> Result[AssetList]:
    chains = [app.registry.find(request.chain)] if request.chain else app.registry.all()
    rows = [_describe(app, chain, asset) for chain in chains for asset in app.assets.all(chain)]
    if request.canonical:
        rows = [row for row in rows if row["canonical"]]
    return Result(answer={"assets": rows})


async def show_asset(app: Application, request: ShowAsset) -> Result[ShownAssets]:
    chains = [app.registry.find(request.chain)] if request.chain else app.registry.all()
    name = request.asset.strip().lower()
    found = [
        (chain, asset)
        for chain in chains
        for asset in app.assets.all(chain)
        if name in (asset.id.lower(), asset.symbol.lower(), asset.location.lower())
        or (name == "native" and asset.kind == "native")
    ]
    if request.chain and not found:
        try:
            # Also what isn't listed: any number on an Asset Hub, 0 for the native asset.
            found = [(chains[0], app.assets.find(chains[0], request.asset, field="asset"))]
        except InvalidRequest as error:
            raise NotFound(str(error), details=error.details) from None
    if not found:
        symbols = sorted(
            {each.symbol for chain in chains for each in app.assets.all(chain) if not each.mark}
        )
        otherwise = "expected an id, a symbol or a location that `scenarioctl asset list` shows"
        raise NotFound(
            field="asset",
            value=request.asset,
            problem=(
                "is not known on any chain, "
                f"{suggest(request.asset, symbols, otherwise=otherwise, cutoff=0.7)}"
            ),
        )
    # The one that is mostly meant first.
    found.sort(key=lambda each: bool(each[1].mark))
    notes = tuple(
        (
            f"Asset {asset.id} of {chain.title} is not listed here. scenarioctl doesn't know "
            "whether it exists."
        )
        for chain, asset in found
        if asset not in app.assets.all(chain)
    )
    return Result(
        answer={"assets": [_detail(app, chain, asset) for chain, asset in found]}, notes=notes
    )


def _describe(app: Application, chain: "Chain", asset: "Asset") -> AssetRow:
    deposit = asset.existential_deposit
    if deposit is None and asset.kind == "native":
        deposit = asset.known_deposit(app.known_runtime(chain))
    return {
        "chain": chain.name,
        "id": asset.id,
        "symbol": asset.symbol,
        "name": asset.name,
        "decimals": asset.decimals,
        "kind": asset.kind,  # type: ignore[typeddict-item]
        "location": asset.location or None,
        "reserve": asset.reserve or None,
        "existential_deposit": None if deposit is None else str(deposit),
        "pays_fees": asset.pays_fees,
        "canonical": bool(asset.own_symbol),
        "mark": asset.mark or None,
    }


def _detail(app: Application, chain: "Chain", asset: "Asset") -> AssetDetails:
    from scenarioctl.transactions.transfer.routes import can_send

    others = [
        app.assets.counterpart(asset, other) for other in app.registry.all() if other != chain
    ]
    return {
        **_describe(app, chain, asset),
        "elsewhere": [
            {"chain": each.chain, "id": each.id, "symbol": each.symbol}
            for each in others
            if each is not None
        ],
        "sends_to": [
            other.name for other in app.registry.all() if can_send(asset, other, app.assets)
        ],
    }
