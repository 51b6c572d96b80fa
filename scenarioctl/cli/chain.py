"""`scenarioctl chain` and `query`: what this machine knows of chains, and what they are asked."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.drawing import (
    columns_of,
    draw_answer,
    draw_rows,
    drawn_command,
    plain_command,
    print_drawn,
)
from scenarioctl.cli.execution import (
    asked_for_data,
    emit,
    open_application,
    perform,
    print_answer,
    print_table,
    read_text,
    run,
    tell,
)
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.output import draw_json
from scenarioctl.errors import InvalidRequest
from scenarioctl.operations.chains import PalletList

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


@click.command(
    cls=Command,
    operation="queries.query_chain",
    arguments=("chain", "pallet_name", "method_name", "params"),
    example="scenarioctl query polkadot System Account "
    "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3\n"
    "  scenarioctl query assetHub Assets Metadata --limit 20\n"
    "  scenarioctl query polkadot Balances ExistentialDeposit\n"
    "  scenarioctl query polkadot Core version",
)
def query(**fields: Any) -> None:
    """Read a chain: a storage item, a constant, or what a runtime API answers.

    PALLET may be a runtime API; names are matched without case, _ and -. PARAMs are numbers,
    addresses, 0x hex, text, or JSON for what has parts. A map is listed where keys are left out.
    Text and numbers are printed as they are, all else as JSON with every integer as text.
    """
    result = perform(**fields)
    text = result.answer["result"]
    shown = _drawable(text) if sys.stdout.isatty() and not asked_for_data() else None
    if shown is not None:
        draw_json(shown)
    else:
        print_answer(result, plain="result")
    if "human" in result.answer and sys.stdout.isatty() and not asked_for_data():
        tell(result.answer["human"])


def _drawable(text: str) -> Any:
    """Return the list or object that *text* is; None for a text that is none, whatever it begins
    with."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else None
    except ValueError:
        return None


#: Contract metadata with the code blob in it stays below this.
ABI_LIMIT = 16 * 1024 * 1024


@click.command(
    cls=Command,
    operation="queries.contract_info",
    arguments=("address",),
    without=("abiJson",),
    hidden=True,
)
@option(
    "--abi",
    "abi",
    metavar="FILE",
    required=True,
    help="The contract's JSON metadata (or .contract bundle); - reads stdin.",
)
def contract(abi: str, **fields: Any) -> None:
    """List the messages of an ink! contract: name, selector, whether it changes the contract,
    arguments."""
    from scenarioctl.formats.documents import parse_json

    metadata = parse_json(read_text(abi, field="abi", limit=ABI_LIMIT), field="abi")
    print_drawn(abiJson=metadata, **fields)


@click.group(cls=Group)
def chain() -> None:
    """List, show and refresh chains."""


chain.add_command(contract)
chain.add_command(
    plain_command(
        "stats",
        "scenarios.count_templates",
        prints="Amount",
        arguments=("chain",),
        hidden=True,
    )
)
chain.add_command(
    drawn_command("channels", "chains.open_channels", arguments=("relay", "paraid"), hidden=True)
)
chain.add_command(
    drawn_command("list", "chains.list_chains", example="scenarioctl chain list --role relay")
)
chain.add_command(
    drawn_command(
        "show",
        "chains.show_chain",
        arguments=("chain",),
        example="scenarioctl chain show hydraDx",
    )
)


@chain.command(
    operation="chains.list_pallets",
    arguments=("chain", "item"),
    example="scenarioctl chain pallets polkadot\n"
    "  scenarioctl chain pallets polkadot Balances\n"
    "  scenarioctl chain pallets polkadot Balances.transfer_keep_alive",
)
def pallets(**fields: Any) -> None:
    """List the pallets and runtime APIs of a chain; of one, its calls, storage items, constants and
    methods, with types.

    ITEM is a call, a storage item, a constant or a method. Its types are spelled out, with what to
    type for each argument. Names are matched without case, _ and -.
    """
    result = perform(**fields)
    answer = result.answer
    if sys.stdout.isatty() or "." in fields["item"]:
        print_answer(result, draw=lambda: draw_answer(answer, PalletList))
    else:
        name = "items" if fields["item"] else "pallets"
        emit(answer, lambda: draw_rows(columns_of(PalletList)[name], answer[name]))


@chain.command(
    example="scenarioctl chain refresh polkadot assetHub hydraDx\n"
    "  scenarioctl chain refresh people --from people.scale --runtime 'people-polkadot 2002002'"
)
@argument("chains", metavar="CHAIN...", nargs=-1, required=True)
@option(
    "--from",
    "source",
    metavar="FILE",
    default="",
    help=(
        "Make the table of one chain from a file of metadata (version 14 to 16) instead; - "
        "reads stdin."
    ),
)
@option(
    "--runtime",
    metavar="NAME VERSION",
    default="",
    help="With --from: the runtime that the file must hold, like 'people-polkadot 2002002'.",
)
def refresh(chains: tuple[str, ...], source: str, runtime: str) -> None:
    """Fetch the runtime tables that the chains have now, so that --offline builds with them.

    A second endpoint is asked too, and two that contradict each other are refused. Where there is
    no second one, you vouch for the one that answers. With --from no endpoint is asked, and you
    vouch for the file.
    """
    app = open_application()
    asked = {each.name: each for each in [app.registry.find(name) for name in chains]}
    if runtime and not source:
        raise InvalidRequest(
            field="runtime", problem="is only for --from FILE", expected="both or neither"
        )
    if source:
        if len(asked) > 1:
            raise InvalidRequest(
                field="from",
                problem=f"is a file of one chain, not of {len(asked)}",
                expected="one CHAIN",
            )
        rows = [_refresh_from_file(app, each, source, runtime) for each in asked.values()]
    else:
        rows = [_refresh_one(app, each) for each in asked.values()]
    print_table(
        {"chains": rows},
        ("chain", "runtime", "endpoint", "confirmed by", "bundled", "kept in"),
        (
            (
                row["name"],
                f"{row['spec_name']} {row['spec_version']}",
                row["endpoint"],
                "a second endpoint" if row["confirmed_by"] == "endpoints" else "you",
                _bundled_words(row),
                row["path"] or "nowhere, its genesis hash is not known",
            )
            for row in rows
        ),
    )


def _refresh_one(app: "Application", each: "Chain") -> dict[str, Any]:
    client = app.client(each)
    table = run(client.fetch_table())
    # Whoever asks for it by hand vouches for the endpoints.
    agreed, table.told_by = not table.told_by, ""
    return _keep(app, each, table, client.endpoint, "endpoints" if agreed else "user")


def _refresh_from_file(
    app: "Application", each: "Chain", source: str, runtime: str
) -> dict[str, Any]:
    from scenarioctl.cli.execution import read_bytes
    from scenarioctl.runtime.metadata import FILE_LIMIT, read_metadata_file
    from scenarioctl.runtime.table import BUNDLED

    if not each.genesis:
        raise InvalidRequest(
            field=f"chains.{each.name}.genesis", problem="is missing: a table is kept by it"
        )
    table = read_metadata_file(
        read_bytes(source, field="from", limit=FILE_LIMIT),
        chain=each.title,
        spec_name=each.spec_name or BUNDLED.get(each.name, ""),
        expected=runtime,
    )
    return _keep(app, each, table, "stdin" if source == "-" else source, "user")


def _keep(
    app: "Application", each: "Chain", table: "RuntimeTable", origin: str, confirmed_by: str
) -> dict[str, Any]:
    from scenarioctl.runtime.table import load_bundled
    from scenarioctl.runtime.table_cache import save_cached

    path = None
    if each.genesis:
        try:
            path = save_cached(table, each.genesis, app.runtime_directory(each))
        except OSError as error:
            raise InvalidRequest(
                field="cache",
                value=str(app.runtime_directory(each)),
                limit=200,
                problem=f"cannot be written: {error.strerror}",
            ) from None
    bundled = load_bundled(each.name)
    return {
        "name": each.name,
        "endpoint": origin,
        "spec_name": table.spec_name,
        "spec_version": table.spec_version,
        "metadata_version": table.metadata_version,
        "bundled_spec_version": bundled.spec_version if bundled else None,
        "confirmed_by": confirmed_by,
        "path": None if path is None else str(path),
    }


def _bundled_words(row: dict[str, Any]) -> str:
    bundled = row["bundled_spec_version"]
    if bundled is None:
        return "none"
    order = (bundled > row["spec_version"]) - (bundled < row["spec_version"])
    return f"{bundled}, {('older', 'the same', 'newer')[order + 1]}"
