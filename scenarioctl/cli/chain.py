"""`scenarioctl chain`: what this machine knows of chains."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import (
    open_application,
    perform,
    print_answer,
    print_table,
    run,
)
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.output import draw_facts, draw_table, head_age, list_some, short_time
from scenarioctl.cli.query import contract
from scenarioctl.cli.reports import plain_command
from scenarioctl.errors import ChainUnreachable, InvalidRequest
from scenarioctl.model.json_types import timestamp
from scenarioctl.operations.chains import source_of
from scenarioctl.operations.results import OUTCOMES

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.probing import Probe
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


@click.group(cls=Group)
def chain() -> None:
    """List, show, check and refresh chains."""


chain.add_command(contract)
chain.add_command(
    plain_command(
        "stats",
        "scenarios.count_templates",
        prints="Amount",
        arguments=("chain",),
        example="scenarioctl chain stats hydraDx",
    )
)


@chain.command(
    operation="chains.open_channels",
    arguments=("relay", "paraid"),
    example="scenarioctl chain channels polkadot 2034",
)
def channels(**fields: Any) -> None:
    """List the parachains with open HRMP channels to or from PARAID."""
    result = perform(**fields)
    answer = result.answer
    print_answer(
        result,
        draw=lambda: draw_table(
            (f"channels of {answer['sourcechain']}",),
            [(number,) for number in answer["open_hrmp_channels"]],
        ),
    )


@chain.command(
    "list", operation="chains.list_chains", example="scenarioctl chain list --role relay"
)
def list_(**fields: Any) -> None:
    """List the chains, including those in config.toml, and the local runtime table of each."""
    listed = perform(**fields).answer
    keys = ("name", "role", "symbol", "para_id", "spec_version", "source", "title")
    print_table(
        listed,
        ("chain", "role", "native", "para id", "runtime", "table", "title"),
        ([row[key] for key in keys] for row in listed["chains"]),
    )


@chain.command(
    operation="chains.show_chain", arguments=("chain",), example="scenarioctl chain show hydraDx"
)
def show(chain: str) -> None:
    """Show all that is known of a chain: identity, endpoints, runtime table, assets and routes.

    No node is asked; `chain check` asks them.
    """
    result = perform(chain=chain)
    print_answer(result, draw=lambda: _draw_chain(result.answer))


#: As many assets of a route are named.
_NAMED = 8


def _draw_chain(answer: dict[str, Any]) -> None:
    runtime = answer["runtime"]
    facts = {
        "chain": f"{answer['name']} ({answer['title']})",
        "role": answer["role"] + (", a test network" if answer["testnet"] else ""),
        **({"doubt": answer["doubt"]} if answer["doubt"] else {}),
        "relay chain": answer["relay"] or "none",
        "para id": "none" if answer["para_id"] is None else answer["para_id"],
        "aliases": ", ".join(answer["aliases"]) or "none",
        "native asset": f"{answer['symbol']}, {answer['decimals']} decimals",
        "SS58 prefix": answer["ss58_prefix"],
        "accounts": f"{answer['account_bytes']} bytes",
        "genesis": answer["genesis"] or "unknown",
        "endpoints": ", ".join(answer["endpoints"]) or "none",
        "runtime table": "none" if runtime is None else _runtime_words(runtime),
        "assets": answer["assets"],
    }
    for key, arrow in (("routes_out", "sends to"), ("routes_in", "receives from")):
        facts |= {
            f"{arrow} {row['chain']}": list_some(
                [each["symbol"] or each["id"] for each in row["assets"]], _NAMED
            )
            for row in answer[key]
        }
        if not answer[key]:
            facts[arrow] = "no other chain"
    draw_facts(facts)


def _runtime_words(runtime: dict[str, Any]) -> str:
    when = f", fetched {short_time(runtime['fetched'])}" if runtime["fetched"] else ""
    return f"{runtime['spec_name']} {runtime['spec_version']}, {runtime['source']}{when}"


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
    if answer["types"] or "." in fields["item"]:
        print_answer(result, draw=lambda: draw_item(answer))
    elif fields["item"]:
        print_table(
            answer,
            ("kind", "name", "takes", "type", "value"),
            (
                (row["kind"], row["name"], _takes(row["parameters"]), row["type"], row["value"])
                for row in answer["items"]
            ),
        )
    else:
        print_table(
            answer,
            ("pallet or runtime API", "index", "calls", "storage", "constants", "methods"),
            (
                *(
                    (
                        row["name"],
                        row["index"],
                        *(len(row[kind]) or None for kind in ("calls", "storage", "constants")),
                        None,
                    )
                    for row in answer["pallets"]
                ),
                *((row["name"], *[None] * 4, len(row["methods"])) for row in answer["apis"]),
            ),
        )


def _takes(parameters: list[dict[str, str]]) -> str | None:
    return (
        ", ".join(": ".join(filter(None, (row["name"], row["type"]))) for row in parameters) or None
    )


@chain.command(example="scenarioctl chain check polkadot assetHub")
@argument("chains", metavar="[CHAIN]...", nargs=-1)
def check(chains: tuple[str, ...]) -> None:
    """Check every endpoint of the chains, how old its best block is, and whether the local runtime
    table is current.

    All chains where none is named. The exit code is 5 where a chain has no endpoint that answers.
    """
    from scenarioctl.chains.probing import probe

    app = open_application()
    asked = [app.registry.find(name) for name in chains] or app.registry.all()
    asked = list({each.name: each for each in asked}.values())
    if app.settings.offline:
        raise ChainUnreachable(
            "endpoints can't be asked offline", advice=app.settings.online_advice
        )
    probes = run(probe(asked, clock=app.clock))
    rows = [
        describe_state(app, each, [one for one in probes if one.chain == each.name])
        for each in asked
    ]
    print_table(
        {"chains": rows},
        ("chain", "endpoint", "latency", "block", "age", "runtime", "table at hand", "state"),
        (line for row in rows for line in _state_lines(row)),
    )
    lost = [row["name"] for row in rows if not any(each["healthy"] for each in row["endpoints"])]
    if lost:
        click.echo(f"No endpoint answers for: {', '.join(lost)}", err=True)
        click.get_current_context().exit(OUTCOMES[ChainUnreachable.code].exit)


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


def describe_state(app: "Application", each: "Chain", probes: "list[Probe]") -> dict[str, Any]:
    """Return what the endpoints of a chain told, and whether the table at hand is the one they
    run."""
    from scenarioctl.chains.probing import block_seconds, judge_head
    from scenarioctl.runtime.table_cache import load_cached

    tables = [app.known_runtime(each)]
    runs = {(one.spec_name, one.spec_version) for one in probes if one.healthy}
    if each.genesis:
        folder = app.runtime_directory(each)
        tables += [load_cached(each.genesis, folder, spec_version=version) for _, version in runs]
    at_hand = [known for known in tables if known is not None]
    current = [known for known in at_hand if (known.spec_name, known.spec_version) in runs]
    table = next(iter((*current, *at_hand)), None)
    state = "none" if table is None else "current" if current else "stale" if runs else "unknown"
    return {
        "name": each.name,
        "table": {
            "state": state,
            "source": source_of(table, each),
            "spec_version": table.spec_version if table else None,
        },
        "endpoints": [
            {
                "endpoint": one.endpoint,
                "healthy": one.healthy,
                "reason": one.reason or None,
                "latency_ms": None if one.latency is None else round(one.latency * 1000),
                "block": one.block,
                "block_time": None if one.made is None else timestamp(one.made),
                "age": one.age,
                "head": judge_head(one.age, block_seconds(table)),
                "spec_name": one.spec_name or None,
                "spec_version": one.spec_version,
            }
            for one in probes
        ],
    }


def _state_lines(row: dict[str, Any]) -> list[tuple[object, ...]]:
    table = row["table"]
    at_hand = (
        "none"
        if table["state"] == "none"
        else f"{table['source']} {table['spec_version']}, {table['state']}"
    )
    lines: list[tuple[object, ...]] = [
        (
            row["name"],
            each["endpoint"],
            None if each["latency_ms"] is None else f"{each['latency_ms']} ms",
            each["block"],
            head_age(each),
            None if each["spec_version"] is None else f"{each['spec_name']} {each['spec_version']}",
            at_hand,
            each["reason"] or "healthy",
        )
        for each in row["endpoints"]
    ]
    return lines or [(row["name"], *[None] * 5, at_hand, "no endpoints")]


_KINDS = {
    "call": "a call",
    "storage": "a storage item",
    "constant": "a constant",
    "method": "a method of a runtime API",
}


def draw_item(answer: Mapping[str, Any]) -> None:
    """Draw the items of one name, of which there is mostly one, and the types that they are made
    of."""
    for row in answer["items"]:
        facts = {f"{row['pallet']}.{row['name']}": _KINDS[row["kind"]]}
        if row["type"] is not None:
            facts["type"] = row["type"]
        if row["value"] is not None:
            facts["value"] = row["value"]
        if row["kind"] == "storage":
            facts["if absent"] = "null" if row["optional"] else "the runtime's default"
        draw_facts(facts)
        if row["parameters"]:
            click.echo()
            draw_table(
                ("argument", "type", "what to type"),
                ((each["name"], each["type"], each["expected"]) for each in row["parameters"]),
            )
        click.echo()
    if answer["types"]:
        names = [row["name"] for row in answer["types"]]
        draw_table(
            ("type", "definition"),
            (
                # Those of several versions of XCM have one name.
                (row["name"] if names.count(row["name"]) == 1 else row["path"], row["definition"])
                for row in answer["types"]
            ),
        )
