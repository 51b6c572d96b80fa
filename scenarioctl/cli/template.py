"""`scenarioctl template`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.options import argument


@click.group(cls=Group)
def template() -> None:
    """Count stored scenarios."""


@template.command(operation="templates.count_templates", example="scenarioctl template stats hydraDx")
@argument("chain", metavar="CHAIN")
def stats(**fields: Any) -> None:
    """Print how many stored scenarios use CHAIN."""
    print_answer(perform(**fields), plain="Amount")
