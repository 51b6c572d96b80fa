"""`scenarioctl flow`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.create import FLOW_LIMIT, syntax_of, syntax_option
from scenarioctl.cli.execution import read_text
from scenarioctl.cli.options import argument
from scenarioctl.cli.preview import picture_options, show_preview


@click.group(cls=Group)
def flow() -> None:
    """Draw flow files."""


@flow.command(
    operation="previews.preview_flow",
    arguments=("flow",),
    example="scenarioctl flow preview rent.toml -o rent.svg",
)
@argument("flow", metavar="FILE")
@syntax_option
@picture_options
def preview(
    flow: str, syntax: str, output: str | None, format: str | None, draw: str | None, **fields: Any
) -> None:
    """Draw a flow file (- for stdin) without storing it, on the terminal or into a file.

    Without a file, the terminal shows the picture if it can; otherwise it is drawn as text. Cards show the problem of their step, and
    stderr has all of them in full.
    """
    text = read_text(flow, field="file", limit=FLOW_LIMIT)
    show_preview(output, format, draw, {"flow": text, "syntax": syntax_of(flow, syntax), **fields})
