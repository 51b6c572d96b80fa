"""`scenarioctl asset`, `balance`, `address` and `multisig`: what is known of assets, and what
accounts hold and sign."""

from typing import Any

import click

from scenarioctl.cli.commands import SYNONYMS, Command, Group
from scenarioctl.cli.drawing import drawn_command, end_unread, plain_command, print_drawn, print_one
from scenarioctl.cli.execution import emit, perform, perform_instead
from scenarioctl.cli.options import argument
from scenarioctl.cli.output import printable
from scenarioctl.errors import InvalidRequest, closest
from scenarioctl.model.amounts import read_number


@click.group(cls=Group)
def asset() -> None:
    """List and show the known assets."""


asset.add_command(
    drawn_command(
        "list",
        "assets.list_assets",
        arguments=("chain",),
        example="scenarioctl asset list hydraDx\n  scenarioctl asset list assetHub --canonical",
    )
)


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
    print_drawn(chain=chain if asset else "", asset=asset or chain)


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
    end_unread(print_drawn(**fields)["chains"])


class AddressGroup(Group):
    """`address ADDRESS` is `address show ADDRESS`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word, known = args[0], [*self.list_commands(ctx), *SYNONYMS]
        is_name = word not in known and not closest(word, self.list_commands(ctx))
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
    others=("addresses.list_addresses",),
    example="scenarioctl address show 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
)
@argument("address", metavar="[ADDRESS]", default=None)
def show_address(address: str | None) -> None:
    """Show what an address tells: its public key, its kind, and how each known chain writes it.
    Without ADDRESS, list the address book.

    ADDRESS is an SS58 address of any network, 0x hex of 32 or 20 bytes, or a name of the address
    book. No chain is asked. The bytes tell the accounts of pallets, parachains and Ethereum
    addresses; a multisig or a proxy looks like any other account.
    """
    if address is None:
        print_drawn("addresses.list_addresses")
    else:
        print_drawn(address=address)


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
    who = f"{answer['address']}{answer['acting'] and ', ' + printable(answer['acting'])}"
    emit(answer, lambda: click.echo(f"Added {printable(answer['name'])}: {who}"))


address.add_command(
    plain_command("remove", "addresses.remove_address", prints="result", arguments=("name",))
)


_HASH = "0x4a9b4ff12cbb43676b59933bd60af84b93fbd5e01c9be1c2c5392a4b8b39abdd"


@click.group(cls=Group)
def multisig() -> None:
    """List the operations that a multisig has open; approve, run and cancel them.

    NAME is a multisig of the address book (`address add council --multisig 2 Alice,Bob,Charlie`),
    or an account for which one acts. To open an operation, make any transaction with `--as NAME`.
    """


@multisig.command(
    "list",
    operation="multisigs.list_operations",
    arguments=("acting", "chains"),
    example="scenarioctl multisig list council assetHub",
)
def list_operations(**fields: Any) -> None:
    end_unread(print_drawn(**fields)["unread"])


@multisig.command(
    operation="multisigs.approve_operation",
    others=("multisigs.execute_operation", "multisigs.cancel_operation"),
    arguments=("acting", "call_hash"),
    example=f"scenarioctl multisig approve council {_HASH} --chain assetHub \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
)
@click.option(
    "--execute",
    is_flag=True,
    help="Run the call instead, once all other approvals that it needs are there.",
)
@click.option(
    "--cancel",
    is_flag=True,
    help="Cancel the operation instead, and get the deposit back; only who opened it can.",
)
def approve(execute: bool, cancel: bool, **fields: Any) -> None:
    if execute and cancel:
        raise InvalidRequest(field="execute", problem="cannot be combined with --cancel")
    if execute or cancel:
        option = "execute" if execute else "cancel"
        print_one(perform_instead(f"multisigs.{option}_operation", option, **fields), "tx")
    else:
        print_one(perform(**fields), "tx")
