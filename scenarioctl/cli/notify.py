"""`scenarioctl notify`: notifications of jobs."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_table
from scenarioctl.cli.options import argument, complete_targets


@click.group(cls=Group)
def notify() -> None:
    """Test the delivery of job notifications."""


@notify.command(
    operation="notifications.send_test_notification",
    example="scenarioctl notify test slack+https://hooks.slack.com/services/…",
)
@argument("target", metavar="[[FORMAT+]URL]", default="", shell_complete=complete_targets)
def test(**fields: Any) -> None:
    """Send a test notification now, to a URL or to all targets of the setting `notify`.

    FORMAT is json (default), slack, mattermost or ntfy. The exit code is 5 if one is not delivered.
    """
    answer = perform(**fields).answer
    print_table(
        answer,
        ("delivered to", "milliseconds"),
        ((each["target"], each["milliseconds"]) for each in answer["deliveries"]),
    )
