"""The judge of checks: its cases can be encoded and stay the same, and it calls wrong what is
wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.judge import Trial, judge
from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.config import load_settings
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Amount, Check, Holding, Step
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable
from tests.live.cases import ACTOR, ANY, OK, UNKNOWN, Case, Cast
from tests.live.programs import KSM, H, give, remark
from tests.live.recorded_metadata import FOLDER, read_kept
from tests.live.truth_cases import cases
from tests.live.world import Balance, Outcome, State, World

RUNTIMES = {
    "liveRelay": "kusama",
    "liveHub": "statemine",
    "liveDex": "hydradx",
    "liveOmnipool": "hydradx",
}
FEE = 5 * 10**8


def table_of(name: str) -> RuntimeTable:
    (path, *_) = sorted(FOLDER.glob(f"{name}-*.v16.*"))
    return read_metadata(read_kept([path.name])[16])


def actors() -> Cast:
    """Return accounts of which nobody asks a chain anything."""
    a, b, bob, mallory = (bytes([number]) * 32 for number in (1, 2, 3, 4))
    return Cast(
        a=a,
        b=b,
        alice=ACTOR.public_key,
        bob=bob,
        mallory=mallory,
        multisig=bytes([5]) * 32,
        sender=ACTOR.public_key,
        transfer=lambda *_: remark(),
        encode=lambda _, call: table_of("hydradx").encode_call(call),
        quote=lambda *_: 10**9,
    )


def test_every_case_is_a_call_of_its_chain() -> None:
    tables = {chain: table_of(name) for chain, name in RUNTIMES.items()}
    cast = actors()

    encoded = {
        (case.chain, case.name): tables[case.chain].encode_call(case.call(cast))
        for case in cases()
        if case.chain in tables
    }

    assert len(encoded) > 250


@pytest.fixture
def world(tmp_path: Path) -> World:
    path = tmp_path / "config.toml"
    path.write_text(
        '[chains.liveHub]\nrole = "asset_hub"\nrelay = "kusama"\npara_id = 1000\nsymbol = '
        '"KSM"\ndecimals = 12\n'
        f'ss58_prefix = 2\ngenesis = "0x{"45" * 32}"\nendpoints = ["ws://127.0.0.1:1/"]\n'
    )
    app = Application(load_settings({"config": str(path)}, {}))
    return World(app, [H])


Tried = Callable[..., Trial]


@pytest.fixture
def tried(world: World) -> Tried:
    """Return a transfer of 1 KSM to `a`, of which all is said and done as it should be, but for
    what a test changes."""
    cast = actors()
    before = {
        (H, cast.sender, "KSM"): Balance(free=100 * KSM),
        (H, cast.a, "KSM"): Balance(free=KSM),
    }

    def build(
        verdict: Any = "ok",
        arrived: int = KSM,
        lost: int = KSM,
        verdicts: frozenset[str] = OK,
        real: str = "arrives",
        more: dict[Any, Balance] | None = None,
        line: str = "",
        **said: Any,
    ) -> Trial:
        def holding(who: bytes) -> Holding:
            return Holding(chain=H, account=format_account(who, 2), amount=amount(KSM))

        steps = (Step(chain=H, what="transaction fee", amount=amount(FEE)),)
        check = Check(
            verdict=verdict,
            steps=steps,
            credits=(holding(cast.a),),
            leaves=(holding(cast.sender),),
            **said,
        )
        after = {
            (H, cast.sender, "KSM"): Balance(free=100 * KSM - lost - FEE),
            (H, cast.a, "KSM"): Balance(free=KSM + arrived),
            **(more or {}),
        }
        case = Case(name="1 KSM", mode="xcm", chain=H, call=call, verdicts=verdicts, line=line)
        return Trial(
            case=case,
            cast=cast,
            call=call(cast),
            check=check,
            built=None,
            outcome=Outcome(real=real, fee=FEE),
            before=State(balances=before),
            after=State(balances=after),
            world=world,
        )

    return build


def amount(value: int) -> Amount:
    return Amount(value=value, asset="KSM", decimals=12)


def call(cast: Cast) -> Call:
    return give(cast.a)


def test_what_is_done_as_it_is_said_is_fine(tried: Tried) -> None:
    assert judge(tried()).kind == "fine"


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"arrived": KSM - 1}, "were stated"),
        ({"real": "trapped"}, "trapped"),
        ({"lost": 2 * KSM}, "gone without a line"),
        ({"verdicts": UNKNOWN}, "must be unknown"),
        ({"more": {(H, b"\x09" * 32, "KSM"): Balance(free=KSM)}}, "isn't mentioned"),
        (
            {"more": {(H, b"\x01" * 32, "KSM"): Balance(free=2 * KSM, reserved=KSM)}},
            "reserved without its amount",
        ),
    ],
)
def test_an_ok_is_false_if_somebody_has_less_or_somebody_else_more(
    tried: Tried, change: dict[str, Any], detail: str
) -> None:
    judged = judge(tried(**change))

    assert judged.kind == "false ok"
    assert any(detail in each for each in judged.details)


@pytest.mark.parametrize("verdict", ["ok", "unknown"])
def test_what_a_case_expects_is_said_whether_it_is_ok_or_unknown(
    tried: Tried, verdict: str
) -> None:
    def judged(warning: str) -> str:
        trial = tried(verdict=verdict, verdicts=ANY, line="fallback", warnings=(warning,))
        return judge(trial).kind

    assert judged("the fallback runs") == "fine"
    assert judged("the main call runs") == "not said"


def test_a_right_that_is_given_without_a_word_is_a_false_ok(tried: Tried) -> None:
    trial = tried()
    trial.after.records[H, "Proxy.Proxies", "0x00"] = "0x01"

    assert judge(trial).details == ["not said: liveHub Proxy.Proxies"]


def test_a_refusal_of_what_arrives_is_false_and_of_what_fails_is_not(tried: Tried) -> None:
    assert judge(tried(verdict="refused", verdicts=ANY)).kind == "fine"
    assert judge(tried(verdict="refused")).kind == "false refusal"
    assert judge(tried(verdict="refused", real="fails")).kind == "wrong verdict"
    assert judge(tried(verdict="unknown")).kind == "false unknown"
