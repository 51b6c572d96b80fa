"""How what a misspelt word may mean is found; `data/transcripts/typos.txt` has what is answered."""

from scenarioctl.cli.main import COMMANDS, MEANT
from scenarioctl.errors import closest, fold, suggest
from tests.conftest import BOB, Run
from tests.messages import says
from tests.test_parity import commands


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
    assert closest("HXD", ["HDX", "HXA", "AXD"], cutoff=0.7) == ["HDX"]
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
