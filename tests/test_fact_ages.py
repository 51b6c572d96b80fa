"""Bundled facts have dates: what is built offline from old ones says so, and nothing is built from
those that are older than a year."""

import json
import subprocess
import sys
from datetime import date, timedelta
from inspect import unwrap

import pytest

from scenarioctl.chains.registry import CHAINS, Registry
from scenarioctl.transactions import fact_ages
from scenarioctl.transactions.fact_ages import LIMIT, OLDEST, dated_facts, day_of
from tests.conftest import BOB, Run
from tests.messages import says

REGISTRY = Registry()
POLKADOT, SHIDEN = REGISTRY.find("polkadot"), REGISTRY.find("shiden")
#: The last day of the oldest of Polkadot's facts.
LAST_DAY = min(fact.read for fact in dated_facts(POLKADOT, REGISTRY)) + LIMIT


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.name)
def test_facts_of_every_built_in_chain_have_dates(chain: object) -> None:
    facts = list(dated_facts(chain, REGISTRY))  # type: ignore[arg-type]

    assert len({fact.what for fact in facts}) == len(facts)
    assert all(fact.read >= date(2026, 1, 1) for fact in facts)


def test_a_relay_chain_has_facts_of_every_kind() -> None:
    assert [fact.what for fact in dated_facts(POLKADOT, REGISTRY)] == [
        *("runtime table", "trust facts", "assets", "routes", "fees")
    ]


def test_a_chain_of_config_toml_has_no_bundled_facts() -> None:
    own = Registry({"own": {"role": "relay", "symbol": "UNIT", "decimals": 12}})

    assert list(dated_facts(own.find("own"), own)) == []


def test_the_day_is_that_of_utc() -> None:
    told = unwrap(day_of)

    assert told(0) == date(1970, 1, 1)
    assert told((24 * 3600 - 1) * 10**9) == date(1970, 1, 1)
    assert told(24 * 3600 * 10**9) == date(1970, 1, 2)


def test_a_process_of_a_test_has_the_day_of_the_tests() -> None:
    """Else all that builds offline in processes fails a year after the facts were read."""
    line = "from scenarioctl.transactions.fact_ages import day_of; print(day_of(0))"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)

    assert done.stdout == f"{day_of(0)}\n"


def build(scenarioctl: Run, *words: str) -> tuple[int, str, str]:
    ended = scenarioctl("--offline", *words, "tx", "transfer", *TELEPORT)
    return ended.code, ended.out, ended.err


TELEPORT = (
    "--from",
    "polkadot",
    "--to",
    "people",
    "--asset",
    "DOT",
    "--amount",
    "1",
    "--to-address",
    BOB,
)


def on(monkeypatch: pytest.MonkeyPatch, today: date) -> None:
    monkeypatch.setattr(fact_ages, "day_of", lambda _: today)


def test_what_is_built_offline_from_old_facts_says_how_old_they_are(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = build(scenarioctl)
    on(monkeypatch, LAST_DAY + timedelta(days=1))
    code, out, err = build(scenarioctl)

    assert (code, out) == (0, fresh[1])
    assert err == says("Warning", "Polkadot", "91 days ago")
    assert err.count("Warning") == 1
    assert "days ago" not in fresh[2]


def test_nothing_is_built_offline_from_facts_older_than_a_year_unless_asked_for(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = build(scenarioctl)
    on(monkeypatch, LAST_DAY - LIMIT + OLDEST)
    last = build(scenarioctl)
    on(monkeypatch, LAST_DAY - LIMIT + OLDEST + timedelta(days=1))

    assert last[:2] == fresh[:2]
    assert build(scenarioctl) == (2, "", says("old_facts", "Polkadot", "366 days", "--old-facts"))
    assert build(scenarioctl, "--old-facts")[:2] == fresh[:2]
    monkeypatch.setenv("SCENARIOCTL_OLD_FACTS", "true")
    assert build(scenarioctl)[:2] == fresh[:2]


def test_a_runtime_table_that_was_read_since_is_as_old_as_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = {fact.what: fact.read for fact in dated_facts(POLKADOT, REGISTRY, LAST_DAY)}
    own = Registry({"own": {"role": "relay", "symbol": "UNIT", "decimals": 12}})

    assert facts["runtime table"] == LAST_DAY
    assert [fact.what for fact in dated_facts(own.find("own"), own, LAST_DAY)] == ["runtime table"]


def test_doctor_says_offline_how_old_the_facts_are(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def facts() -> dict[str, object]:
        checks = json.loads(scenarioctl("--offline", "--json", "doctor").out)["checks"]
        return next(each for each in checks if each["name"] == "facts")

    assert facts()["ok"] is True
    on(monkeypatch, LAST_DAY + timedelta(days=1))
    assert facts()["ok"] is None
    assert facts()["text"] == says("91 days old")
    on(monkeypatch, date(2001, 1, 1))
    assert (facts()["ok"], facts()["text"]) == (False, says("2001-01-01", "clock"))


def test_a_call_that_rests_on_the_runtime_alone_is_as_old_as_its_table(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, LAST_DAY + timedelta(days=1))
    monkeypatch.setattr(fact_ages, "_other_facts", pytest.fail)
    ended = scenarioctl("--offline", "tx", "call", "polkadot", "System", "remark", "0x00")

    assert (ended.code, ended.err) == (0, says("Warning", "runtime table", "91 days ago"))
