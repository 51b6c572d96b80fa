"""`scenarioctl template`."""

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.options import argument


@click.group(cls=Group)
def template() -> None:
    """Count stored scenarios."""


@template.command(operation="templates.count_templates", example="scenarioctl template stats hydraDx")
@argument("chain", metavar="CHAIN")
def stats(chain: str) -> None:
    """Print how many stored scenarios use CHAIN."""
    result = perform("templates.count_templates", "CountTemplates", chain=chain)
    print_answer(result, plain=str(result.answer["Amount"]))
