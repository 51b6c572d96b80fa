"""`scenarioctl template`."""

import click

from scenarioctl.cli.base import Group, argument, perform, print_answer


@click.group(cls=Group)
def template() -> None:
    """Count stored scenarios."""


@template.command(operation="templates.count_templates", example="scenarioctl template stats hydraDx")
@argument("chain", metavar="CHAIN")
def stats(chain: str) -> None:
    """Print how many stored scenarios have CHAIN in them."""
    result = perform("templates.count_templates", "CountTemplates", chain=chain)
    print_answer(result, plain=str(result.answer["Amount"]))
