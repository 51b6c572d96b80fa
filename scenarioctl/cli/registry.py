"""`scenarioctl registry`: the facts about chains on this machine, and newer ones that somebody
signed."""

from dataclasses import asdict

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import (
    asked_for_json,
    confirms,
    open_application,
    perform,
    print_table,
    run,
    tell,
)
from scenarioctl.cli.options import option
from scenarioctl.cli.output import printable, say
from scenarioctl.errors import InvalidRequest


@click.group(cls=Group)
def registry() -> None:
    """Show and update the facts about chains: endpoints, assets, routes, what chains accept,
    closures and runtimes."""


@registry.command(operation="registry_feeds.show_facts", example="scenarioctl registry show")
def show() -> None:
    """Show the facts in force: version, date, age, source, the key that signed them, and the hashes
    of this feed and the one before."""
    answer = perform().answer
    print_table(answer, ("fact", "value"), answer.items())


@registry.command(example="scenarioctl registry update --from registry.json")
@option(
    "--from",
    "source",
    metavar="FILE|URL",
    default="",
    help="The signed feed (default: the setting registry_url).",
)
@click.option("--yes", "-y", is_flag=True, help="Agree to what makes facts less strict.")
def update(source: str, yes: bool) -> None:
    """Install newer facts about chains that a key of registry_keys signed.

    A feed that closes, removes or warns is installed. What opens a route, or changes an asset, a
    chain or an endpoint, is listed, and needs your --yes or your answer on a terminal. Nothing is
    installed by halves.
    """
    from scenarioctl.operations.registry_feeds import judge_feed

    app = open_application()
    source = source or app.settings.registry_url
    if not source:
        raise InvalidRequest(
            field="--from",
            problem="is missing",
            expected="a file or a URL, or the setting registry_url",
        )
    feed = run(judge_feed(app, source))
    changes = [{**asdict(each), "says": str(each)} for each in feed.changes]
    if feed.opening and not yes:
        if not asked_for_json():
            say("\n".join(printable(str(each)) for each in feed.opening))
        if not confirms():
            raise InvalidRequest(
                field="--yes",
                problem=(
                    f"is missing: version {feed.header.version} opens or changes what somebody "
                    "has to agree to"
                ),
                details={"changes": changes},
            )
        click.confirm("Agree to these changes?", abort=True, err=True)
    outcome = "was installed already."
    if not feed.is_installed:
        feed.install()
        outcome = "is installed. Your daemons restart to use it."
    print_table(
        {
            "version": feed.header.version,
            "date": feed.header.date,
            "key": feed.header.key,
            "changes": changes,
        },
        ("kind", "change", "agreed"),
        ((each.kind, str(each), "yes" if each.opens else "") for each in feed.changes),
    )
    tell(f"Version {feed.header.version} of {feed.header.date} {outcome}")
