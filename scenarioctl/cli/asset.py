"""`scenarioctl asset`: the assets that this program knows."""

from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer, print_table
from scenarioctl.cli.options import argument
from scenarioctl.cli.output import draw_facts, draw_table


@click.group(cls=Group)
def asset() -> None:
    """List and show the known assets."""


@asset.command(
    "list",
    operation="assets.list_assets",
    example="scenarioctl asset list hydraDx\n  scenarioctl asset list assetHub --canonical",
)
@argument("chain", metavar="[CHAIN]", default="")
@click.option(
    "--canonical",
    is_flag=True,
    help="Only assets whose symbol means them: no look-alikes, and none whose symbol is not verified.",
)
def list_(**fields: Any) -> None:
    """List the known assets of a chain, or of all chains.

    Anyone can create an asset with any symbol. `canonical` says whether the symbol means this one; if not, use the id.
    """
    listed = perform(**fields).answer
    many = not fields["chain"]
    columns = ("id", "symbol", "decimals", "existential deposit", "pays fees", "canonical", "location")
    print_table(
        listed,
        ("chain", *columns) if many else columns,
        ((row["chain"], *_cells(row)) if many else _cells(row) for row in listed["assets"]),
    )


def _cells(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        row["id"],
        row["symbol"] or None,
        row["decimals"],
        row["existential_deposit"],
        _yes(row["pays_fees"]),
        _canonical(row),
        row["location"],
    )


def _yes(known: bool | None) -> str | None:
    return None if known is None else "yes" if known else "no"


@asset.command(
    operation="assets.show_asset",
    example="scenarioctl asset show USDT\n  scenarioctl asset show hydraDx 10",
)
@argument("chain", metavar="[CHAIN]")
@argument("asset", metavar="ASSET", default="")
def show(chain: str, asset: str) -> None:
    """Show an asset: its id, decimals and location, the same asset on other chains, and where it can be sent.

    ASSET is an id, a symbol, `native`, or a location like 1/Here. Without CHAIN, every chain that has such an asset is shown.
    """
    result = perform(chain=chain if asset else "", asset=asset or chain)
    print_answer(result, draw=lambda: _draw(result.answer["assets"]))


def _draw(assets: list[Mapping[str, Any]]) -> None:
    if len(assets) == 1:
        draw_facts(_facts(assets[0]))
        return
    draw_table(
        ("chain", "id", "symbol", "name", "decimals", "canonical", "elsewhere", "can be sent to"),
        (
            (
                *(row[key] or None for key in ("chain", "id", "symbol", "name")),
                row["decimals"],
                _canonical(row),
                _elsewhere(row) or None,
                ", ".join(row["sends_to"]) or None,
            )
            for row in assets
        ),
    )


def _facts(row: Mapping[str, Any]) -> Mapping[str, object]:
    from scenarioctl.model.amounts import to_whole

    deposit, decimals = row["existential_deposit"], row["decimals"]
    if deposit is not None and decimals is not None:
        deposit = f"{to_whole(int(deposit), decimals)} {row['symbol']} ({deposit} raw)"
    return {
        "chain": row["chain"],
        "id": row["id"],
        "symbol": row["symbol"] or "unknown",
        "name": row["name"] or "unknown",
        "canonical": _canonical(row),
        "decimals": "unknown" if decimals is None else decimals,
        "existential deposit": "unknown" if deposit is None else deposit,
        "pays fees": _yes(row["pays_fees"]) or "unknown",
        "kind": row["kind"],
        "location": row["location"] or "unknown",
        "reserve": row["reserve"] or "unknown",
        "elsewhere": _elsewhere(row) or "not known on another chain",
        "can be sent to": ", ".join(row["sends_to"]) or "no other chain",
    }


def _canonical(row: Mapping[str, Any]) -> str:
    return "yes" if row["canonical"] else row["mark"] or "no known symbol"


def _elsewhere(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{each['id']} on {each['chain']}" for each in row["elsewhere"])
