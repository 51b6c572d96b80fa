"""`scenarioctl webhook`, the inbox of webhook steps, and `notify`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer, print_table, read_text
from scenarioctl.cli.options import argument
from scenarioctl.cli.output import dump_json, short_time

#: Larger than any event that is taken: the setting webhook_limit says what is.
_CONTENT_LIMIT = 16 * 1024 * 1024


@click.group(cls=Group)
def webhook() -> None:
    """Post, list and replay the events of webhook steps."""


@webhook.command(
    operation="webhooks.post_event",
    arguments=("uuid", "content"),
    example="""echo '{"amount": 5}' | scenarioctl webhook post 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d -""",
)
@argument("content", metavar="FILE|-")
def post(uuid: str, content: str) -> None:
    """Post an event, JSON in a file or on stdin (-), to the waiting scenarios; print its number."""
    from scenarioctl.formats.documents import parse_json

    value = parse_json(read_text(content, field="content", limit=_CONTENT_LIMIT), field="content")
    print_answer(perform(uuid=uuid, content=value), plain="id")


@webhook.command("list", operation="webhooks.list_events", arguments=("uuid",))
def list_(**fields: Any) -> None:
    """List the stored events of a webhook, oldest first: number, date, content."""
    answer = perform(**fields).answer
    print_table(
        answer,
        ("event", "received", "content"),
        ((each["id"], short_time(each["received"]), dump_json(each["content"])) for each in answer["events"]),
    )


@webhook.command(
    operation="webhooks.replay_event", arguments=("id",), example="scenarioctl webhook replay 17"
)
def replay(**fields: Any) -> None:
    """Post the content of an earlier event again, as a new one; print its number."""
    print_answer(perform(**fields), plain="id")


@click.group(cls=Group)
def notify() -> None:
    """Test the delivery of job notifications."""


@notify.command(
    operation="notifications.send_test_notification",
    arguments=("target",),
    example="scenarioctl notify test slack+https://hooks.slack.com/services/…",
)
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
