"""`scenarioctl asset`, `balance` and `address`: what is known of assets, and what accounts hold."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import click

from scenarioctl.cli.aliases import SYNONYMS
from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.execution import (
    emit,
    perform,
    print_answer,
    print_table,
)
from scenarioctl.cli.options import argument
from scenarioctl.cli.output import abbreviate, draw_facts, draw_table, list_some, printable, say
from scenarioctl.errors import ChainUnreachable, closest
from scenarioctl.model.amounts import read_number, to_whole
from scenarioctl.operations.results import OUTCOMES


@click.group(cls=Group)
def asset() -> None:
    """List and show the known assets."""


@asset.command(
    "list",
    operation="assets.list_assets",
    arguments=("chain",),
    example="scenarioctl asset list hydraDx\n  scenarioctl asset list assetHub --canonical",
)
def list_(**fields: Any) -> None:
    """List the known assets of a chain, or of all chains.

    Anyone can create an asset with any symbol. `canonical` says whether the symbol means this one;
    if not, use the id.
    """
    listed = perform(**fields).answer
    many = not fields["chain"]
    columns = (
        "id",
        "symbol",
        "decimals",
        "existential deposit",
        "pays fees",
        "canonical",
        "location",
    )
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
    arguments=("chain", "asset"),
    example="scenarioctl asset show USDT\n  scenarioctl asset show hydraDx 10",
)
@argument("chain", metavar="[CHAIN]")
@argument("asset", metavar="ASSET", default="")
def show(chain: str, asset: str) -> None:
    """Show an asset: its id, decimals and location, the same asset on other chains, and where it
    can be sent.

    ASSET is an id, a symbol, `native`, or a location like 1/Here. Without CHAIN, every chain that
    has such an asset is shown.
    """
    result = perform(chain=chain if asset else "", asset=asset or chain)
    emit(result.answer, lambda: _draw(result.answer["assets"]))


#: As many other assets are named.
_NAMED = 4


def _draw(assets: list[Mapping[str, Any]]) -> None:
    first, *others = assets
    elsewhere = {(each["chain"], each["id"]) for each in first["elsewhere"]}
    same = [row for row in others if not row["mark"] and (row["chain"], row["id"]) not in elsewhere]
    alike = [row for row in others if row["mark"]]
    draw_facts(
        {
            **_facts(first),
            **({"also": _named(same)} if same else {}),
            **({"look-alikes": f"{_named(alike)}; name one by its id"} if alike else {}),
        }
    )


def _facts(row: Mapping[str, Any]) -> Mapping[str, object]:
    deposit, decimals = row["existential_deposit"], row["decimals"]
    if deposit is not None and decimals is not None:
        deposit = f"{to_whole(int(deposit), decimals)} {row['symbol']} ({deposit} raw)"
    return {
        "asset": ", ".join(filter(None, (row["symbol"] or "unknown symbol", row["name"]))),
        "id": f"{row['id']} on {row['chain']}",
        "canonical": _canonical(row),
        "decimals": "unknown" if decimals is None else decimals,
        "existential deposit": "unknown" if deposit is None else deposit,
        "pays fees": _yes(row["pays_fees"]) or "unknown",
        "location": row["location"] or "unknown",
        "reserve": row["reserve"] or "unknown",
        "elsewhere": _named(row["elsewhere"]) or "not known on another chain",
        "can be sent to": ", ".join(row["sends_to"]) or "no other chain",
    }


def _named(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the ids of a few assets, each with its chain; those that would fill a line are
    shortened."""
    return list_some([f"{abbreviate(row['id'])} on {row['chain']}" for row in rows], _NAMED)


def _canonical(row: Mapping[str, Any]) -> str:
    return "yes" if row["canonical"] else row["mark"] or "no known symbol"


_FIGURES = ("free", "reserved", "frozen", "transferable")


@click.command(
    cls=Command,
    operation="balances.read_balances",
    arguments=("address", "chains"),
    example="scenarioctl balance 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3\n"
    "  scenarioctl balance 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3 assetHub "
    "hydraDx --json",
)
def balance(**fields: Any) -> None:
    """Read what an account holds of every known asset: free, reserved, frozen and transferable.

    Without CHAIN, all known chains but the built-in test networks are asked. `transferable` can be
    sent if the account may be closed by it. What could not be read is `unknown`; if a whole chain
    could not, the exit code is 5.
    """
    answer = perform(**fields).answer
    print_table(answer, ("chain", "asset", *_FIGURES, "note"), _lines(answer))
    lost = [row["chain"] for row in answer["chains"] if row["error"]]
    if lost:
        say(f"Could not be read: {', '.join(lost)}")
        click.get_current_context().exit(OUTCOMES[ChainUnreachable.code].exit)


def _lines(answer: Mapping[str, Any]) -> Iterable[tuple[object, ...]]:
    for chain in answer["chains"]:
        if chain["error"]:
            yield chain["chain"], None, *["unknown"] * len(_FIGURES), chain["error"]
            continue
        rows = [row for row in answer["balances"] if row["chain"] == chain["chain"]]
        yield from (_line(row) for row in rows if row["free"] is not None)
        yield from _unknown([row for row in rows if row["free"] is None])


def _line(row: Mapping[str, Any]) -> tuple[object, ...]:
    figures = (_figure(row[name], row["decimals"]) for name in _FIGURES)
    return row["chain"], row["name"], *figures, row["reason"]


def _figure(amount: Mapping[str, Any] | None, decimals: int | None) -> str:
    if amount is None:
        return "unknown"
    return (
        f"{amount['value']} raw" if decimals is None else to_whole(int(amount["value"]), decimals)
    )


def _unknown(rows: list[Mapping[str, Any]]) -> Iterable[tuple[object, ...]]:
    """Yield one line for the assets that are unknown for one reason."""
    for reason, some in groupby(rows, lambda row: row["reason"]):
        yield (
            rows[0]["chain"],
            list_some([row["name"] for row in some], 3),
            *["unknown"] * len(_FIGURES),
            reason,
        )


class AddressGroup(Group):
    """`address ADDRESS` is `address show ADDRESS`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word, known = args[0], self.list_commands(ctx)
        is_name = word not in known and word not in SYNONYMS and not closest(word, known)
        return super().resolve_command(ctx, ["show", *args] if is_name else args)


@click.group(cls=AddressGroup, subcommand_metavar="COMMAND|ADDRESS [ARGS]...")
def address() -> None:
    """Show what an address tells, and keep the address book: accounts with names.

    A name goes wherever an address goes, as in `--to-address "Cold wallet"`. The answer says which
    address it stood for.
    """


@address.command(
    "show",
    operation="addresses.show_address",
    arguments=("address",),
    example="scenarioctl address show 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
)
def show_address(address: str) -> None:
    """Show what an address tells: its public key, its kind, and how each known chain writes it.

    ADDRESS is an SS58 address of any network, 0x hex of 32 or 20 bytes, or a name of the address
    book. No chain is asked. The bytes tell the accounts of pallets, parachains and Ethereum
    addresses; a multisig or a proxy looks like any other account.
    """
    result = perform(address=address)
    print_answer(result, draw=lambda: _draw_address(result.answer))


@address.command(
    "add",
    operation="addresses.add_address",
    arguments=("name", "address"),
    without=("threshold", "signatories"),
    example=(
        'scenarioctl address add "Cold wallet" '
        "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3 --watch"
    ),
)
@click.option(
    "--multisig",
    nargs=2,
    metavar="N ADDRESS,ADDRESS...",
    help=(
        "It is a multisig of these accounts, addresses or names, of which N must approve what "
        "it does."
    ),
)
def add_address(multisig: tuple[str, str] | None, **fields: Any) -> None:
    if multisig is not None:
        threshold, members = multisig
        fields["threshold"] = read_number(threshold, field="multisig", kind="how many must approve")
        fields["signatories"] = tuple(each.strip() for each in members.split(",") if each.strip())
    answer = perform(**fields).answer
    emit(answer, lambda: click.echo(f"Added {printable(answer['name'])}: {_who(answer)}"))


def _who(row: Mapping[str, Any]) -> str:
    """Return the address of a row of the address book, and who acts for it."""
    return f"{row['address']}{row['acting'] and ', ' + printable(row['acting'])}"


@address.command("list", operation="addresses.list_addresses")
def list_addresses() -> None:
    answer = perform().answer
    print_table(
        answer,
        ("name", "address", "watched", "acting"),
        (
            (row["name"], row["address"], _yes(row["watched"]), printable(row["acting"]))
            for row in answer["addresses"]
        ),
    )


@address.command("remove", operation="addresses.remove_address", arguments=("name",))
def remove_address(name: str) -> None:
    print_answer(perform(name=name), "result")


def _draw_address(answer: Mapping[str, Any]) -> None:
    draw_facts(
        {
            "account": answer["account"],
            "kind": answer["description"],
            "possible keys": "none: nobody can sign for it"
            if answer["keyless"]
            else ", ".join(answer["possible_keys"]),
        }
    )
    click.echo()
    draw_table(
        ("address", "prefix", "chains"),
        (
            (row["address"], row["prefix"], ", ".join(row["chains"]) or "any (generic)")
            for row in answer["addresses"]
        ),
    )
