"""The bounds of a job: what a transaction moves, and which drafts are refused because of it."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.actions.running import Run as Drafting
from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import Conflict, InvalidRequest, NotFound
from scenarioctl.model.amounts import U128_MAX
from scenarioctl.model.bounds import read_bounds, split_bounds, write_amount
from scenarioctl.model.calls import Call
from scenarioctl.model.jobs import SECOND, Job, JobChange, JobState, Schedule
from scenarioctl.operations.creation import CreateFlow, create_flow
from scenarioctl.operations.job_bounds import guard_of
from scenarioctl.operations.jobs import RunJob, StartJob, StopJob, run_job, start_job, stop_job
from scenarioctl.operations.stored_diagrams import open_blob
from scenarioctl.stores.rows import DAMAGED, read_schedule, write_schedule
from scenarioctl.stores.store import Store
from scenarioctl.transactions.moved_amounts import UnknownAmount, moved_by
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.worker.leg import RunningLeg
from tests.conftest import BOB, Run
from tests.messages import Says, raises, says
from tests.runner import finish as run
from tests.runtimes import bundled
from tests.test_check import BOB_KEY, DOT
from tests.test_payouts import create as create_payout
from tests.test_payouts import table
from tests.test_route_vectors import COMMITTED, table_of, transfer_of
from tests.test_scenario_batches import create, flow, transfer
from tests.test_stores import FIRST, STORES, opened
from tests.test_worker import START, Bench

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
HOUR, DAY = 3600 * SECOND, 24 * 3600 * SECOND


def call(pallet: str, method: str, **args: Any) -> Call:
    return Call(pallet=pallet, method=method, args=args)


def held(inner: Call) -> dict[str, Any]:
    """Return *inner* as another call holds it."""
    return {inner.pallet: {inner.method: dict(inner.args)}}


def moved(chain: str, made: Call) -> dict[str, str]:
    """Return what *made* moves, in whole tokens, as a chain reads its bytes."""
    runtime = bundled(chain)
    decoded = runtime.decode_call(runtime.encode_call(made))
    found = moved_by(decoded, REGISTRY.find(chain), ASSETS, runtime)
    return {asset.symbol: asset.amount(raw) for asset, raw in found.items()}


PAY = call("Balances", "transfer_keep_alive", dest={"Id": BOB_KEY}, value=2 * DOT)
REMARK = call("System", "remark", remark=b"hi")
SELL = call(
    "Router", "sell", asset_in=5, asset_out=0, amount_in=3 * DOT, min_amount_out=7, route=[]
)
BUY = call("Router", "buy", asset_in=5, asset_out=0, amount_out=7, max_amount_in=4 * DOT, route=[])
BATCH = call("Utility", "batch_all", calls=[held(PAY), held(REMARK), held(PAY)])
PROXIED = call("Proxy", "proxy", real={"Id": BOB_KEY}, force_proxy_type=None, call=held(BATCH))
WEIGHT = {"ref_time": 1, "proof_size": 1}
APPROVED = call(
    "Multisig",
    "as_multi",
    threshold=2,
    other_signatories=[BOB_KEY],
    maybe_timepoint=None,
    call=held(PROXIED),
    max_weight=WEIGHT,
)
TRANSFER = call(
    "XTokens",
    "transfer",
    currency_id=5,
    amount=DOT,
    dest={
        "V4": {
            "parents": 1,
            "interior": {"X1": [{"AccountId32": {"network": None, "id": BOB_KEY}}]},
        }
    },
    dest_weight_limit="Unlimited",
)


@pytest.mark.parametrize(
    ("chain", "made", "amounts"),
    [
        ("polkadot", PAY, {"DOT": "2 DOT"}),
        ("polkadot", REMARK, {}),
        ("polkadot", BATCH, {"DOT": "4 DOT"}),
        ("polkadot", APPROVED, {"DOT": "4 DOT"}),
        (
            "polkadot",
            call("Utility", "if_else", main=held(PAY), fallback=held(PAY)),
            {"DOT": "4 DOT"},
        ),
        ("polkadot", call("Utility", "batch_all", calls=[]), {}),
        ("polkadot", call("Staking", "bond_extra", max_additional=DOT), {"DOT": "1 DOT"}),
        ("polkadot", call("Staking", "unbond", value=DOT), {}),
        ("hydraDx", SELL, {"DOT": "3 DOT"}),
        ("hydraDx", BUY, {"DOT": "4 DOT"}),
        ("hydraDx", TRANSFER, {"DOT": "1 DOT"}),
        (
            "hydraDx",
            call("Utility", "batch_all", calls=[held(SELL), held(TRANSFER)]),
            {"DOT": "4 DOT"},
        ),
    ],
)
def test_a_call_moves_what_it_and_all_calls_inside_it_move(
    chain: str, made: Call, amounts: dict[str, str]
) -> None:
    assert moved(chain, made) == amounts


@pytest.mark.parametrize(
    ("chain", "made"),
    [
        ("polkadot", call("Balances", "transfer_all", dest={"Id": BOB_KEY}, keep_alive=False)),
        (
            "polkadot",
            call("Proxy", "add_proxy", delegate={"Id": BOB_KEY}, proxy_type="Any", delay=0),
        ),
        ("polkadot", call("Staking", "bond", value=DOT, payee={"Account": BOB_KEY})),
        ("polkadot", call("Staking", "validate", prefs={"commission": 0, "blocked": False})),
        (
            "polkadot",
            call(
                "Scheduler",
                "schedule_after",
                after=5,
                maybe_periodic=None,
                priority=0,
                call=held(PAY),
            ),
        ),
        (
            "polkadot",
            call(
                "Multisig",
                "approve_as_multi",
                threshold=2,
                other_signatories=[BOB_KEY],
                maybe_timepoint=None,
                call_hash=bytes(32),
                max_weight=WEIGHT,
            ),
        ),
        (
            "hydraDx",
            call("Router", "sell_all", asset_in=5, asset_out=0, min_amount_out=7, route=[]),
        ),
        ("hydraDx", call("Router", "buy", **{**BUY.args, "max_amount_in": U128_MAX})),
        ("hydraDx", call("Tokens", "transfer", dest=BOB_KEY, currency_id=4_000_000, amount=1)),
        (
            "hydraDx",
            call(
                "EVM",
                "call",
                source=bytes(20),
                target=bytes(15) + b"\1\0\0\0\5",
                input=bytes.fromhex("a9059cbb") + bytes(64),
                value=0,
                gas_limit=1,
                max_fee_per_gas=1,
                max_priority_fee_per_gas=None,
                nonce=None,
                access_list=[],
                authorization_list=[],
            ),
        ),
    ],
    ids=lambda given: f"{given.pallet}.{given.method}" if isinstance(given, Call) else None,
)
def test_what_may_move_more_than_it_says_is_unknown(chain: str, made: Call) -> None:
    with pytest.raises(UnknownAmount) as error:
        moved(chain, made)

    assert str(error.value) == says(made.method)
    around = call("Utility", "batch_all", calls=[held(REMARK), held(made)])
    with pytest.raises(UnknownAmount):
        moved(chain, around)


def test_every_transfer_that_is_built_here_says_how_much_it_moves() -> None:
    told = 0
    for vector in COMMITTED["routes"]:
        with suppress(InvalidRequest):
            wanted, runtime = transfer_of(vector), table_of(vector)
            built = runtime.encode_call(build_transfer(wanted, runtime, assets=ASSETS).call)
            amounts = moved_by(runtime.decode_call(built), wanted.source, ASSETS, runtime)
            told += amounts[wanted.asset] == wanted.amount

    assert told >= 20


@pytest.mark.parametrize(
    ("program", "is_known"),
    [
        (
            [
                {
                    "DepositAsset": {
                        "assets": {"Wild": "All"},
                        "beneficiary": {"parents": 0, "interior": "Here"},
                    }
                }
            ],
            True,
        ),
        (
            [
                {
                    "Transact": {
                        "origin_kind": "SovereignAccount",
                        "fallback_max_weight": None,
                        "call": {"encoded": b"\0"},
                    }
                }
            ],
            False,
        ),
        ([{"WithdrawAsset": []}], False),
    ],
)
def test_a_program_for_another_chain_may_only_pass_on_what_arrives(
    program: Any, is_known: bool
) -> None:
    here = {"parents": 1, "interior": "Here"}
    made = call(
        "PolkadotXcm",
        "transfer_assets_using_type_and_then",
        dest={"V5": here},
        assets={"V5": [{"id": here, "fun": {"Fungible": DOT}}]},
        assets_transfer_type="Teleport",
        remote_fees_id={"V5": here},
        fees_transfer_type="Teleport",
        custom_xcm_on_dest={"V5": program},
        weight_limit="Unlimited",
    )

    if is_known:
        assert moved("assetHub", made) == {"DOT": "1 DOT"}
    else:
        with pytest.raises(UnknownAmount):
            moved("assetHub", made)


def test_a_program_moves_what_it_withdraws() -> None:
    here = {"parents": 1, "interior": "Here"}
    keep = {
        "DepositAsset": {
            "assets": {"Wild": "All"},
            "beneficiary": {"parents": 0, "interior": "Here"},
        }
    }
    taken = {"WithdrawAsset": [{"id": here, "fun": {"Fungible": 3 * DOT}}]}

    def execute(*program: Any) -> Call:
        return call("PolkadotXcm", "execute", message={"V5": list(program)}, max_weight=WEIGHT)

    assert moved("assetHub", execute(taken, keep)) == {"DOT": "3 DOT"}
    assert moved("assetHub", execute(taken, {"SetAppendix": [taken]})) == {"DOT": "6 DOT"}
    with pytest.raises(UnknownAmount):
        moved("assetHub", execute({"SetFeesMode": {"jit_withdraw": True}}, taken, keep))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("10 DOT", "10 DOT"),
        (["10 DOT", "0.50 USDT"], "10 DOT, 0.5 USDT"),
        ("10 DOT, 5 USDT", "10 DOT, 5 USDT"),
        ("10 DOT,5 USDT", "10 DOT, 5 USDT"),
        (("10 DOT, 5 USDT", "1 KSM"), "10 DOT, 5 USDT, 1 KSM"),
        (["1_000 DOT"], "1000 DOT"),
        ("none", ""),
        ([], ""),
    ],
)
def test_bounds_are_kept_as_amounts_with_symbols(given: Any, text: str) -> None:
    kept = read_bounds(given, field="max_amount")

    assert kept == text
    assert read_bounds(kept, field="max_amount") == kept
    assert (
        ", ".join(
            f"{write_amount(amount)} {symbol}" for symbol, amount in split_bounds(kept).items()
        )
        == kept
    )


@pytest.mark.parametrize(
    "given",
    [
        "10",
        "10raw",
        ["10 DOT", "5 dot"],
        "0 DOT",
        "-1 DOT",
        5,
        "1,500 DOT",
        "many",
        "1e-60 DOT",
        {"a": 1},
    ],
)
def test_what_is_no_bound_is_refused(given: Any) -> None:
    with raises(InvalidRequest, says("max_amount")):
        read_bounds(given, field="max_amount")


def test_a_schedule_without_bounds_is_written_as_older_versions_read_it() -> None:
    bounded = Schedule(max_amount="10 DOT")

    assert "max_amount" not in json.loads(write_schedule(Schedule()))
    assert read_schedule(write_schedule(bounded)) == bounded


def job(scenarioctl: Run, *line: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(scenarioctl("--offline", "--json", "job", *line).out)
    return answer


def drafted(scenarioctl: Run, scenario: str) -> str:
    """Run the job once; return why it failed, empty if it has drafted."""
    ended = scenarioctl("--offline", "job", "run", scenario)
    assert ended.code in (0, 4)
    return "" if not ended.code else ended.err.splitlines()[-1]


def test_a_draft_beyond_a_bound_is_not_kept(scenarioctl: Run, tmp_path: Path) -> None:
    scenario = create(scenarioctl, flow(tmp_path, transfer("2.5")))
    job(scenarioctl, "start", scenario, "--max-amount", "2.4 DOT")

    refused = drafted(scenarioctl, scenario)

    assert refused == says("2.5 DOT", "max_amount", "2.4 DOT")
    (entry,) = job(scenarioctl, "drafts", scenario)["mempool"]
    assert entry["tx"] == "Could not generate transaction"
    job(scenarioctl, "reschedule", scenario, "--max-amount", "2.5 DOT")
    assert drafted(scenarioctl, scenario) == ""
    job(scenarioctl, "reschedule", scenario, "--max-amount", "1 DOT")
    job(scenarioctl, "reschedule", scenario, "--max-amount", "none")
    assert drafted(scenarioctl, scenario) == ""


def test_drafts_of_a_day_count_together(scenarioctl: Run, tmp_path: Path) -> None:
    scenario = create(scenarioctl, flow(tmp_path, transfer("2"), transfer("1.5", "assetHub")))
    job(scenarioctl, "start", scenario, "--max-per-day", "6 DOT")

    assert drafted(scenarioctl, scenario) == ""

    # The first transaction fits, the second one doesn't.
    _, refused = drafted(scenarioctl, scenario).split("': ")
    assert refused == says("1.5 DOT", "max_per_day", "6 DOT", "0.5 DOT", "5.5 DOT")
    assert [each["tx"][:2] for each in job(scenarioctl, "drafts", scenario)["mempool"]] == [
        "0x",
        "0x",
        "0x",
        "Co",
    ]


def test_an_asset_without_a_bound_is_refused_while_another_has_one(
    scenarioctl: Run, tmp_path: Path
) -> None:
    usdt = transfer("3", "assetHub", "assetHub") | {"assetid": "USDT"}
    scenario = create(scenarioctl, flow(tmp_path, usdt))
    job(scenarioctl, "start", scenario, "--max-amount", "10 DOT")

    assert drafted(scenarioctl, scenario) == says("3 USDt", "10 DOT", "max_amount")
    job(scenarioctl, "reschedule", scenario, "--max-amount", "10 DOT", "--max-amount", "3 usdt")
    assert drafted(scenarioctl, scenario) == ""


def test_an_asset_that_only_looks_like_another_has_no_bound(
    scenarioctl: Run, tmp_path: Path
) -> None:
    scenario = create(
        scenarioctl, flow(tmp_path, transfer("3", "assetHub", "assetHub") | {"assetid": "3"})
    )
    job(scenarioctl, "start", scenario, "--max-amount", "10 DOT")

    assert drafted(scenarioctl, scenario) == says("3 DOT (asset 3, not the native DOT)", "10 DOT")


def test_what_nobody_can_read_is_refused_while_a_bound_stands(
    scenarioctl: Run, tmp_path: Path
) -> None:
    everything = {
        "type": "chainTx",
        "chain": "polkadot",
        "pallet_name": "Balances",
        "method_name": "transfer_all",
        "params": {"dest": BOB, "keep_alive": False},
    }
    scenario = create(scenarioctl, flow(tmp_path, everything))
    job(scenarioctl, "start", scenario, "--max-amount", "10 DOT")

    assert drafted(scenarioctl, scenario) == says("unknown", "Balances.transfer_all")


def test_a_payout_is_bounded_by_the_sum_of_its_lines(scenarioctl: Run, tmp_path: Path) -> None:
    lines = table([BOB, "1.5"], [BOB, "2"])
    scenario = create_payout(
        scenarioctl, tmp_path, lines, "--chain", "polkadot", "--asset", "DOT", "--yes"
    )["result"]
    job(scenarioctl, "start", scenario, "--max-amount", "3.4 DOT")

    assert drafted(scenarioctl, scenario) == says("3.5 DOT", "3.4 DOT")


def test_bounds_are_shown_and_stay_for_the_next_start(scenarioctl: Run, tmp_path: Path) -> None:
    scenario = create(scenarioctl, flow(tmp_path, transfer("2")))
    line = ("--every", "1h", "--max-amount", "5 dot", "--max-per-day", "20 DOT")
    job(scenarioctl, "start", scenario, *line)

    shown = job(scenarioctl, "status", scenario)
    assert (shown["max_amount"], shown["max_per_day"]) == ("5 DOT", "20 DOT")
    assert shown["schedule"] == says("every 1h", "5 DOT", "20 DOT")
    assert "every 1h, at most 5 DOT" in scenarioctl("job", "list").out
    job(scenarioctl, "stop", scenario)
    again = scenarioctl("job", "start", scenario, "--every", "2h")
    assert again.err.splitlines()[0] == says("every 2h", "20 DOT")
    job(scenarioctl, "stop", scenario)
    job(scenarioctl, "start", scenario, "--max-per-day", "none")
    assert job(scenarioctl, "status", scenario)["schedule"] == says("every 2h", "5 DOT")


async def test_bounds_outlast_a_worker_that_does_not_know_them(bench: Bench) -> None:
    id = await start_daily(bench, "3 DOT")

    def pause(known: Job) -> JobChange:
        return JobChange(job=replace(known, state=JobState.PAUSED, due=None, reason=DAMAGED))

    await bench.store.change_job(id, pause)

    again = await start_job(bench.app, StartJob(id=id))

    assert again.notes[0] == says("every 12h", "3 DOT")
    assert (await bench.job(id)).schedule.max_per_day == "3 DOT"


async def test_an_empty_list_of_bounds_takes_none_away(bench: Bench) -> None:
    id = await start_daily(bench, "3 DOT")
    await stop_job(bench.app, StopJob(id=id))

    await start_job(bench.app, StartJob(id=id, max_per_day=[]))

    assert (await bench.job(id)).schedule.max_per_day == "3 DOT"


async def test_a_start_that_meets_a_stop_keeps_the_bounds(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = await start_daily(bench, "3 DOT")
    now = bench.store.now

    async def stop_meanwhile() -> int:
        monkeypatch.setattr(bench.store, "now", now)
        await stop_job(bench.app, StopJob(id=id))
        return await now()

    monkeypatch.setattr(bench.store, "now", stop_meanwhile)
    assert (await start_job(bench.app, StartJob(id=id))).answer["result"] == "Job started"

    assert (await bench.job(id)).schedule == Schedule(every=DAY, max_per_day="3 DOT")


async def test_a_job_whose_bounds_cannot_be_read_is_not_run(bench: Bench) -> None:
    id = await start_daily(bench, "1 DOT")

    def damage(known: Job) -> JobChange:
        # As a newer version may write it.
        return JobChange(job=replace(known, schedule=replace(known.schedule, max_per_day=5)))  # type: ignore[arg-type]

    await bench.store.change_job(id, damage)

    with raises(Conflict, says("damaged", id=id)):
        await run_job(bench.app, RunJob(id=id))
    assert (await start_job(bench.app, StartJob(id=id, max_amount="1 DOT"))).warnings == ()
    await bench.store.change_job(id, damage)
    assert (await start_job(bench.app, StartJob(id=id))).warnings == (says("bounds"),)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (("--max-amount", "5 KSM"), says("max_amount", "KSM", "Polkadot")),
        (("--max-per-day", "5"), says("max_per_day")),
    ],
)
def test_a_bound_that_names_no_asset_of_the_scenario_is_refused(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...], error: Says
) -> None:
    scenario = create(scenarioctl, flow(tmp_path, transfer("2")))

    refused = scenarioctl("--offline", "job", "start", scenario, *line)

    assert refused.code == 2
    assert refused.err.strip() == error


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    for store in made.stores:
        run(store.close())


async def take_leg(bench: Bench, id: str, owner: str) -> list[str]:
    """Take the leg that is due; return the first line of each draft that it leaves."""
    worker = bench.worker(owner=owner)
    leg = RunningLeg(
        bench.app,
        await bench.begin(id, owner),
        owner=owner,
        pace=worker.pace,
        counts=worker.counts,
        at_store=asyncio.Semaphore(),
        monotonic=bench.time.monotonic,
    )
    ended = await leg.perform()
    assert ended is not None
    return [draft.tx[:2] for draft in ended.drafts]


async def start_daily(bench: Bench, amount: str) -> str:
    """Start a job that moves 2 DOT each day, and may move *amount*."""
    made = await create_flow(bench.app, CreateFlow(flow={"steps": [transfer("2")]}, syntax="json"))
    await bench.start(made.answer["result"], scenario=False, every="1d", max_per_day=amount)
    return str(made.answer["result"])


async def test_a_day_goes_from_planned_time_to_planned_time(bench: Bench) -> None:
    id = await start_daily(bench, "2 DOT")

    drafts = []
    # The first run begins late, the second one in time.
    for wait in (30 * SECOND, DAY - 30 * SECOND, HOUR):
        bench.time.now += wait
        bench.time.passed += wait
        if await bench.store.find_due(1):
            drafts.append(await take_leg(bench, id, "me"))

    assert drafts == [["0x"], ["0x"]]


async def test_a_run_that_waited_long_counts_when_it_drafts(bench: Bench) -> None:
    steps = [{"type": "delay", "seconds": 23 * 3600}, transfer("2")]
    made = await create_flow(bench.app, CreateFlow(flow={"steps": steps}, syntax="json"))
    id = made.answer["result"]
    await bench.start(id, scenario=False, every="1d", max_per_day="3 DOT")
    assert await take_leg(bench, id, "me") == []
    bench.time.now += 23 * HOUR
    bench.time.passed += 23 * HOUR
    assert await take_leg(bench, id, "me") == ["0x"]

    # The next planned run is an hour later.
    more, limits = {"dot": Fraction(2)}, {"dot": Fraction(3)}
    spent = await bench.store.spend(
        id, run="b", node="1", moment=START + DAY, amounts=more, limits=limits
    )
    assert spent == {"dot": Fraction(2)}


@pytest.mark.parametrize("wrong", [-DAY - HOUR, 2 * DAY])
async def test_a_run_by_hand_counts_by_the_clock_of_the_store(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, wrong: int
) -> None:
    id = await start_daily(bench, "3 DOT")
    monkeypatch.setattr(bench.app, "clock", lambda: bench.time.now + wrong)
    await run_job(bench.app, RunJob(id=id))

    assert await take_leg(bench, id, "me") == ["Co"]


async def test_a_leg_that_is_taken_again_counts_once(bench: Bench) -> None:
    id = await start_daily(bench, "2 DOT")
    gone = await bench.begin(id, "gone")
    guard = guard_of(
        bench.app, id, gone.job.schedule, run=f"{id} {gone.job.planned}", planned=bench.time.now
    )
    scenario = await bench.store.get_scenario(id)
    diagram = await open_blob(bench.app, scenario.blob, id)
    # It has drafted, and dies before it stores the draft.
    await Drafting(bench.app, id, diagram, guard=guard).go()
    await bench.store.free_legs(["gone"])

    assert await take_leg(bench, id, "next") == ["0x"]


@pytest.mark.parametrize("kind", STORES)
class TestEveryStore:
    @pytest.fixture
    def store(self, kind: str, tmp_path: Path) -> Iterator[Store]:
        with opened(kind, tmp_path) as store:
            run(store.put_scenario(FIRST))
            yield store

    @staticmethod
    async def spend(store: Store, amount: str, *, key: str, at: int = DAY, limit: int = 10) -> str:
        """Return what other drafts moved if the draft of a run is refused, else empty."""
        found = await store.spend(
            FIRST.id,
            run=key,
            node="1",
            moment=at,
            amounts={"dot": Fraction(amount)},
            limits={"dot": Fraction(limit)},
        )
        return write_amount(found["dot"]) if found else ""

    def test_only_the_last_day_counts(self, store: Store) -> None:
        assert run(self.spend(store, "7.5", key="a", at=5 * DAY)) == ""
        assert run(self.spend(store, "3", key="b", at=6 * DAY - 1)) == "7.5"
        assert run(self.spend(store, "3", key="b", at=6 * DAY)) == ""
        assert run(self.spend(store, "7.1", key="c", at=6 * DAY)) == "3"

    def test_a_run_that_is_tried_again_counts_once_with_the_larger_amount(
        self, store: Store
    ) -> None:
        for amount in ("6", "4", "6"):
            assert run(self.spend(store, amount, key="a")) == ""

        assert run(self.spend(store, "4.1", key="b")) == "6"
        assert run(self.spend(store, "4", key="b")) == ""

    def test_amounts_of_any_size_are_exact(self, store: Store) -> None:
        large = 2**128 - 1
        assert run(self.spend(store, str(large - 1), key="a", limit=large)) == ""
        assert run(self.spend(store, "1.000000000000000001", key="b", limit=large)) == str(
            large - 1
        )
        assert run(self.spend(store, "1", key="b", limit=large)) == ""

    def test_of_many_at_once_no_more_than_fit_are_noted(self, store: Store) -> None:
        async def all() -> list[str]:
            return await asyncio.gather(
                *(self.spend(store, "3", key=str(number)) for number in range(8))
            )

        assert sorted(run(all())) == ["", "", "", *["9"] * 5]

    def test_it_goes_with_its_scenario(self, store: Store) -> None:
        assert run(self.spend(store, "9", key="a")) == ""
        run(store.delete_scenario(FIRST.id))

        with pytest.raises(NotFound):
            run(self.spend(store, "9", key="b"))
        run(store.put_scenario(FIRST))
        assert run(self.spend(store, "9", key="b")) == ""
