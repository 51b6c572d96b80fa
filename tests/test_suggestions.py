"""What is asked back where a word is misspelt: a command, a chain, an asset, a pallet, a choice, a setting."""

import shlex

import pytest

from scenarioctl.cli.main import COMMANDS, MEANT
from scenarioctl.errors import closest, fold, suggest
from tests.conftest import BOB, Run
from tests.messages import says
from tests.test_parity import commands

#: A line, and what must be in the sentence that refuses it.
MISSPELT = (
    ("ls", "scenarioctl scenario list", "scenarioctl chain list"),
    ("Decode 0x00", "scenarioctl tx decode"),
    ("swap", "scenarioctl create swap"),
    ("sign", "scenarioctl tx payload", "scenarioctl tx assemble"),
    ("scenarios", "scenario"),
    ("scenario rm abc", "delete"),
    ("job tail abc", "logs"),
    ("job ls", "list"),
    ("template stats asethub", "assetHub"),
    ("template stats 'Aset Hub'", "assetHub"),
    ("template stats hydratoin", "hydraDx"),
    ("template stats moonbeam", "polkadot, assetHub"),
    (f"xcm asset-transfer --from polkadot --to assetHub --assetid DOTT --amount 1 --destinationaddress {BOB}", "DOT"),
    (f"xcm asset-transfer --from assetHub --to hydraDx --assetid USTD --amount 1 --destinationaddress {BOB}", "USDt"),
    ("query polkadot balnces x", "Balances"),
    ("query polkadot balances existentaldeposit", "ExistentialDeposit"),
    ("query polkadot zzz x", "pallets: System"),
    ("chain list --role relays", "relay"),
    ("chain list --sort symbl", "symbol"),
    ("scenario list --sort ids", "id"),
    ("job list --state runing", "running"),
    ("config set stroe x", "store"),
    ("config show --jsn", "--json"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"), [(line, words) for line, *words in MISSPELT], ids=[row[0][:40] for row in MISSPELT]
)
def test_a_misspelt_word_is_asked_back(scenarioctl: Run, line: str, words: list[str]) -> None:
    ended = scenarioctl("--offline", *shlex.split(line))

    assert (ended.out, ended.code in (2, 3)) == ("", True)
    assert ended.err.splitlines()[0] == says(*words)


def test_every_word_leads_to_commands_that_there_are() -> None:
    known = commands()

    for word, lines in MEANT.items():
        assert word not in COMMANDS
        for line in lines:
            name = line.partition(" --")[0]
            assert name in known, line
            options = [option for parameter in known[name].params for option in parameter.opts]
            assert line == name or line.removeprefix(f"{name} ") in options


def test_a_look_alike_is_never_suggested(scenarioctl: Run) -> None:
    line = f"xcm asset-transfer --from assetHub --to hydraDx --amount 1 --destinationaddress {BOB} --assetid CATWI"

    ended = scenarioctl("--offline", *line.split())

    # Asset 50 is CATWIF, and anybody's.
    assert ended.err == says("CATWI", "expected an id or a symbol")


def test_case_and_separators_make_no_difference() -> None:
    assert fold("Transfer-Keep_alive now") == "transferkeepalivenow"
    assert closest("TRANSFERKEEPALIV", ["transfer_all", "transfer_keep_alive"]) == ["transfer_keep_alive"]


def test_names_that_begin_with_the_word_come_first() -> None:
    known = ["force_transfer", "transfer_all", "transfer_keep_alive", "transfer_allow_death"]

    assert closest("transfer", known, count=3) == known[1:]
    assert closest("tra", known) == []
    assert closest("STORES", ["STORE", "STORE_STATEMENT_SECONDS"]) == ["STORE"]


def test_several_are_listed_as_people_do() -> None:
    known = ["transfer_all", "transfer_keep_alive", "transfer_allow_death"]

    assert suggest("transfer", known, count=3) == (
        "did you mean transfer_all, transfer_keep_alive or transfer_allow_death?"
    )
    assert suggest(5, ["a", "b"]) == "expected one of: a, b"
    assert (
        suggest("hydration", {"Hydration": "hydraDx", "hydradx": "hydraDx"}, count=2)
        == "did you mean hydraDx?"
    )
