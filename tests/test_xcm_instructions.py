"""One table says what an instruction does: its rows fit the instructions of real runtimes."""

import re
from typing import Any

import pytest

from scenarioctl.transactions.xcm_instructions import INSTRUCTIONS, kind_of
from tests.network import table_of


def instructions(chain: str) -> dict[str, list[str | None]]:
    """Return the instructions of XCM 5 that the runtime of *chain* knows, with the names of their
    fields."""
    types = table_of(chain).types
    for number in range(len(types)):
        path, _, kind, definition = types[number]
        if path.endswith("v5::Instruction") and kind == "variant":
            return {name: [field[0] for field in fields] for name, _, fields in definition}
    raise AssertionError(f"{chain} has no XCM 5")


@pytest.mark.parametrize("chain", ["polkadot", "assetHub", "hydraDx"])
@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_a_row_names_fields_that_the_instruction_has(chain: str, name: str) -> None:
    kind, fields = INSTRUCTIONS[name], instructions(chain)[name]
    named = {*re.findall(r"[:,](\w+)", kind.words), kind.pays, kind.onward, kind.program} - {
        "",
        "*",
    }

    assert named <= {*fields}


def test_an_instruction_without_a_row_is_never_followed() -> None:
    known: dict[str, Any] = instructions("assetHub")

    assert {name for name in known if not kind_of(name).followed} == {
        *(
            *("Transact", "ExchangeAsset", "UniversalOrigin", "ExportMessage", "ReportHolding"),
            "ReportError",
        ),
        *("HrmpNewChannelOpenRequest", "HrmpChannelAccepted", "HrmpChannelClosing", "QueryPallet"),
        *("QueryResponse", "SubscribeVersion", "UnsubscribeVersion", "ReportTransactStatus"),
        *("LockAsset", "UnlockAsset", "NoteUnlockable", "RequestUnlock"),
    }
