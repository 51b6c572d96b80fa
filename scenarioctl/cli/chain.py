"""`scenarioctl chain`: what this machine knows of chains."""

from typing import Any

import click

from scenarioctl.cli.base import Group, asked_for_json, draw_table, dump_json, open_application, option
from scenarioctl.errors import InvalidRequest, shorten


@click.group(cls=Group)
def chain() -> None:
    """The chains that scenarioctl knows."""


@chain.command("list")
@option("--role", metavar="ROLE", default="", help="Only relay, asset_hub, dex, contracts or parachain.")
@option(
    "--sort",
    metavar="KEY",
    default="",
    help="name, role, symbol or para_id; as in the registry where left out.",
)
def list_(role: str, sort: str) -> None:
    """List the chains, those of config.toml too, with the runtime table at hand for each."""
    app = open_application()
    rows = [_describe(app, each) for each in app.registry.all() if not role or each.role == role]
    if role and not rows:
        roles = sorted({each.role for each in app.registry.all()})
        raise InvalidRequest(f"role {shorten(role)} fits no chain, expected one of: {', '.join(roles)}")
    if sort:
        if sort not in {"name", "role", "symbol", "para_id"}:
            raise InvalidRequest(
                f"sort {shorten(sort)} is not known, expected one of: name, role, symbol, para_id"
            )
        rows.sort(key=lambda row: (row[sort] is None, row[sort]))
    if asked_for_json():
        click.echo(dump_json({"chains": rows}))
        return
    draw_table(
        ("chain", "role", "native", "para id", "runtime", "title"),
        [
            (
                row["name"],
                row["role"],
                row["symbol"],
                "-" if row["para_id"] is None else row["para_id"],
                row["spec_version"] or "-",
                row["title"],
            )
            for row in rows
        ],
    )


def _describe(app: Any, each: Any) -> dict[str, Any]:
    table = app.known_runtime(each)
    return {
        "name": each.name,
        "title": each.title,
        "role": each.role,
        "relay": each.relay or None,
        "para_id": each.para_id,
        "symbol": each.symbol,
        "decimals": each.decimals,
        "ss58_prefix": each.ss58_prefix,
        "genesis": each.genesis or None,
        "aliases": list(each.aliases),
        "testnet": each.testnet,
        "spec_version": table.spec_version if table else None,
        "endpoints": list(each.endpoints),
    }
