"""`scenarioctl webhook`: the inbox of webhook steps."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import asked_for_json, perform, print_answer
from scenarioctl.cli.input import read_text
from scenarioctl.cli.options import argument
from scenarioctl.cli.output import draw_table, dump_json

#: Larger than any event that is taken: the setting webhook_limit says what is.
_CONTENT_LIMIT = 16 * 1024 * 1024


@click.group(cls=Group)
def webhook() -> None:
    """Post, list and replay the events of webhook steps."""


@webhook.command(
    operation="webhooks.post_event",
    example="""echo '{"amount": 5}' | scenarioctl webhook post 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d -""",
)
@click.argument("uuid", metavar="UUID")
@argument("content", metavar="FILE|-")
def post(uuid: str, content: str) -> None:
    """Post an event, JSON in a file or on stdin (-), to the waiting scenarios; print its number."""
    from scenarioctl.formats.documents import parse_json

    value = parse_json(read_text(content, field="content", limit=_CONTENT_LIMIT), field="content")
    posted = perform("webhooks.post_event", "PostEvent", uuid=uuid, content=value)
    print_answer(posted, plain=str(posted.answer["id"]))


@webhook.command("list", operation="webhooks.list_events")
@click.argument("uuid", metavar="UUID")
def list_(uuid: str) -> None:
    """List the stored events of a webhook, oldest first: number, date, content."""
    answer = perform("webhooks.list_events", "ListEvents", uuid=uuid).answer
    if asked_for_json():
        click.echo(dump_json(answer))
        return
    draw_table(
        ("event", "received", "content"),
        [(each["id"], each["received"][:19] + "Z", dump_json(each["content"])) for each in answer["events"]],
    )


@webhook.command(operation="webhooks.replay_event", example="scenarioctl webhook replay 17")
@click.argument("id", metavar="EVENT")
def replay(**fields: Any) -> None:
    """Post the content of an earlier event again, as a new one; print its number."""
    posted = perform("webhooks.replay_event", "ReplayEvent", **fields)
    print_answer(posted, plain=str(posted.answer["id"]))
