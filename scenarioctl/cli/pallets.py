"""One item of a runtime, drawn for `chain pallets`."""

from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.output import draw_facts, draw_table

_KINDS = {
    "call": "a call",
    "storage": "a storage item",
    "constant": "a constant",
    "method": "a method of a runtime API",
}


def draw_item(answer: Mapping[str, Any]) -> None:
    """Draw the items of one name, of which there is mostly one, and the types that they are made of."""
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
