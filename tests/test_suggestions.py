"""How what a misspelt word may mean is found; `data/transcripts/typos.txt` has what is answered."""

import re

import click
import pytest

from scenarioctl.cli.commands import ALIASES, SYNONYMS, leaves
from scenarioctl.cli.main import cli
from scenarioctl.cli.options import GLOBAL_OPTIONS
from scenarioctl.errors import closest, fold
from tests.conftest import BOB, ROOT, Run
from tests.messages import says
from tests.test_parity import commands


def test_every_alias_and_every_synonym_leads_to_a_command_that_there_is() -> None:
    shown = list(leaves(click.Context(cli, info_name="scenarioctl")))
    known = commands()

    for old, new in ALIASES.items():
        words, _, options = new.partition(" --")
        assert old not in known
        assert words in known or words in {line.rpartition(" ")[0] for line in known}
        assert not options or f"--{options.split()[0]}" in {
            option for parameter in known[words].params for option in parameter.opts
        }
    assert {name for names in SYNONYMS.values() for name in names} <= {
        each for line in (*shown, *known) for each in (line, line.split()[-1])
    }


@pytest.mark.parametrize("old", sorted(ALIASES))
def test_an_old_spelling_means_what_the_new_one_means(scenarioctl: Run, old: str) -> None:
    assert scenarioctl(*old.split(), "--help") == scenarioctl(*ALIASES[old].split(), "--help")
    assert old not in list(leaves(click.Context(cli)))


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("ls", "scenario list"),
        ("send", "tx send"),
        ("brodcast", "tx send"),
        ("job send", "tx send"),
        ("job rm", "scenario delete"),
        ("scenario rm", "delete"),
        ("swap", "create swap"),
        ("create scenaro", "create transfer"),
        ("scenario flows", "create flow"),
        ("encode", "tx call"),
        ("tx fee", "tx check"),
        ("rebalance", "create flow"),
        ("vote", "tx call"),
    ],
)
def test_a_word_leads_to_commands_of_any_group(scenarioctl: Run, line: str, meant: str) -> None:
    ended = scenarioctl(*line.split())

    assert (ended.out, ended.code) == ("", 2)
    assert ended.err.splitlines()[0] == says(line.split()[-1], meant).within("Error: {}")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("daemon --port 1", "--listen"),
        ("job start x --interval 1h", "--every"),
        ("create transfer --recipient x", "--to-address"),
        ("tx decode 0x00 --network polkadot", "--chain"),
    ],
)
def test_a_users_word_for_an_option_leads_to_ours(scenarioctl: Run, line: str, meant: str) -> None:
    assert scenarioctl(*line.split()).err.splitlines()[0] == says(meant).within("Error: {}")


def test_an_option_of_another_command_leads_to_it(scenarioctl: Run) -> None:
    ended = scenarioctl("create", "remark", "--chain", "polkadot", "--text", "x", "--slippage", "1")

    assert ended.err.splitlines()[0] == says("--slippage", "create swap").within("Error: {}")


def test_what_few_need_is_named_by_the_help_and_explained_by_the_man_page(scenarioctl: Run) -> None:
    shown = scenarioctl("create", "swap", "--help").out
    page = (ROOT / "man" / "man1" / "scenarioctl-create-swap.1").read_text()

    assert re.search(r"^  --exact-minimum", shown, re.MULTILINE) is None
    assert "Rarely needed, see the man page: --min-amount-out, --exact-minimum" in shown
    assert r"\fB\-\-exact\-minimum\fP" in page
    assert re.search(r"^  --nonce", scenarioctl("tx", "payload", "--help").out, re.MULTILINE)


def test_no_command_shows_more_than_twelve_options() -> None:
    def shown(command: click.Command) -> list[click.Option]:
        options = [
            each for each in command.params if isinstance(each, click.Option) and not each.hidden
        ]
        return [each for each in options if each not in GLOBAL_OPTIONS]

    known = commands()
    lines = set(leaves(click.Context(cli)))
    assert {line for line in lines if len(shown(known[line])) > 12} == set()
    assert len(lines) < 75


def test_a_look_alike_is_never_suggested(scenarioctl: Run) -> None:
    line = (
        "xcm asset-transfer --from assetHub --to hydraDx --amount 1 --destinationaddress "
        f"{BOB} --assetid CATWI"
    )

    ended = scenarioctl("--offline", *line.split())

    # Asset 50 is CATWIF, and anybody's.
    assert ended.err == says("CATWI", "expected an id or a symbol")


def test_case_and_separators_make_no_difference() -> None:
    assert fold("Transfer-Keep_alive now") == "transferkeepalivenow"
    assert closest("TRANSFERKEEPALIV", ["transfer_all", "transfer_keep_alive"]) == [
        "transfer_keep_alive"
    ]
