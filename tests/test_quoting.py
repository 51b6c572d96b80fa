"""Quotes from a chain's state: what is read, what comes of it, and what is refused."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.errors import ChainRefused, ScenarioctlError
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.swap.route_quote import STAND_IN, fetch_quote, fetch_room
from scenarioctl.transactions.swap.swap_call import Quote, format_route, parse_route, percent
from tests.conftest import BOB_HEX, Run
from tests.messages import Says, raises, says
from tests.node import Node, Refusal
from tests.pool import (
    BLOCK,
    CONTRACT,
    DOT,
    HDX,
    HEAD,
    SHARE,
    USDT,
    Chain,
    State,
    application,
    dry_run_answer,
    executed,
    fees,
    oracle,
    pool,
    registered,
    subpool,
    table,
    write_config,
)
from tests.runner import finish

TWO_DOT = 2 * 10**10
#: Trades have moved the fees of both assets.
MOVED_HDX = (
    oracle(HDX, amount_in=4 * 10**17, amount_out=6 * 10**17, liquidity=101 * 10**18),
    fees(HDX, 3000, 700, BLOCK - 10),
)
MOVED_DOT = (
    oracle(DOT, amount_in=2 * 10**12, amount_out=10**12, liquidity=10**16),
    fees(DOT, 2600, 600, BLOCK - 4),
)
BUSY = pool(*MOVED_HDX, *MOVED_DOT)
SLIP: State = {("Omnipool", "SlipFee"): {"max_slip_fee": 50_000}}
PARAMETERS = {"min_fee": 1000, "max_fee": 90_000, "decay": 10**13, "amplification": 10**18}


@contextmanager
def quoting(chain: Chain, path: Path) -> Iterator[Callable[..., Quote]]:
    with Node(chain.answers()) as node:
        app = application(path, node)
        dex = app.registry.find("hydraDx")

        def ask(sold: str, bought: str, amount: int, **options: Any) -> Quote:
            asset_in, asset_out = app.assets.find(dex, sold), app.assets.find(dex, bought)
            if isinstance(options.get("route"), str):
                options["route"] = parse_route(options["route"], field="route")
            return finish(
                fetch_quote(
                    app.client(dex),
                    asset_in=asset_in,
                    asset_out=asset_out,
                    amount=amount,
                    **options,
                )
            )

        try:
            yield ask
        finally:
            finish(app.close())


def quoted(path: Path, state: State, *arguments: Any, **options: Any) -> Quote:
    with quoting(Chain(state), path) as ask:
        return ask(*arguments, **options)


def refused(path: Path, chain: Chain, *arguments: Any, **options: Any) -> ScenarioctlError:
    with quoting(chain, path) as ask, pytest.raises(ScenarioctlError) as error:
        ask(*arguments, **options)
    return error.value


class TestTheOmnipool:
    def test_a_quiet_pool_takes_its_least_fees(self, tmp_path: Path) -> None:
        quote = quoted(tmp_path, pool(), "DOT", "HDX", TWO_DOT)

        leg = quote.legs[0]
        assert (quote.amount_out, quote.block, quote.block_hash) == (1993958652849177, BLOCK, HEAD)
        assert (leg.asset_fee, leg.protocol_fee) == (2500, 500)
        assert quote.warnings == ()

    def test_fees_are_recalculated_for_the_next_block(self, tmp_path: Path) -> None:
        quote = quoted(tmp_path, BUSY, "DOT", "HDX", TWO_DOT)

        leg = quote.legs[0]
        assert (leg.asset_fee, leg.protocol_fee) == (20622, 811)
        assert quote.amount_out == 1957124423891189
        assert quote.describe() == says("DOT", "1957.124423891189", "HDX", "1000")

    def test_without_an_oracle_the_last_fees_stand(self, tmp_path: Path) -> None:
        quote = quoted(tmp_path, pool(fees(HDX, 12_345, 700, 1)), "DOT", "HDX", TWO_DOT)

        assert quote.legs[0].asset_fee == 12_345

    def test_fixed_fees_are_fixed(self, tmp_path: Path) -> None:
        fixed = {"Fixed": {"asset_fee": 1500, "protocol_fee": 40}}
        state: State = {**BUSY, ("DynamicFees", "AssetFeeConfiguration", HDX): fixed}

        quote = quoted(tmp_path, state, "DOT", "HDX", TWO_DOT)

        assert (quote.legs[0].asset_fee, quote.legs[0].protocol_fee) == (1500, 811)

    def test_an_asset_may_have_parameters_of_its_own(self, tmp_path: Path) -> None:
        own = {"Dynamic": {"asset_fee_params": PARAMETERS, "protocol_fee_params": PARAMETERS}}
        state: State = {**BUSY, ("DynamicFees", "AssetFeeConfiguration", HDX): own}

        quote = quoted(tmp_path, state, "DOT", "HDX", TWO_DOT)

        assert quote.legs[0].asset_fee == 11_976

    def test_what_earlier_trades_left_counts_in_the_slip_fee(self, tmp_path: Path) -> None:
        left: State = {
            ("Omnipool", "SlipFeeHubReserveAtBlockStart", HDX): 1_999_000 * 10**12,
            ("Omnipool", "SlipFeeDelta", HDX): {"Positive": 1_000 * 10**12},
            ("Omnipool", "SlipFeeDelta", DOT): {"Negative": 5_000 * 10**12},
        }

        quote = quoted(tmp_path, pool(SLIP, left), "DOT", "HDX", TWO_DOT)

        assert quote.amount_out == 1992419281705299

    def test_all_is_read_at_one_block_in_two_round_trips(self, tmp_path: Path) -> None:
        chain = Chain(BUSY)
        with Node(chain.answers()) as node:
            app = application(tmp_path, node)
            dex = app.registry.find("hydraDx")
            finish(app.client(dex).table())
            opening = list(node.asked)
            trips: list[int] = []
            client = app.client(dex)
            ask = client.call_many

            async def counted(requests: Any) -> Any:
                trips.append(len(requests))
                return await ask(requests)

            client.call_many = counted  # type: ignore[method-assign]
            find = app.assets.find
            finish(
                fetch_quote(
                    client, asset_in=find(dex, "DOT"), asset_out=find(dex, "HDX"), amount=TWO_DOT
                )
            )
            finish(app.close())

        assert opening == ["chain_getBlockHash", "state_getRuntimeVersion"]
        assert trips == [1, 22]
        assert chain.blocks == {HEAD}

    def test_a_contracts_token_is_counted_by_its_contract(self, tmp_path: Path) -> None:
        state = pool(subpool(CONTRACT, reserve=1, hub=500_000 * 10**12))
        state["AssetRegistry", "Assets", CONTRACT] = registered("Erc20")
        chain = Chain(state)
        chain.contract_balances[CONTRACT] = 1_000_000 * 10**18

        with quoting(chain, tmp_path) as ask:
            quote = ask("DOT", "222", TWO_DOT)

        assert quote.amount_out == 79753563397942070048
        assert chain.blocks == {HEAD}

    def test_the_impact_leaves_the_fees_aside(self, tmp_path: Path) -> None:
        quote = quoted(tmp_path, BUSY, "DOT", "HDX", 10_000 * 10**10)

        # One part in 100 of DOT's reserve brings this much of the hub asset, to 2 million of it
        # beside HDX.
        hub = Fraction(20_000_000 * 10_000, 1_010_000)
        expected = 1 - Fraction(100, 101) * 2_000_000 / (2_000_000 + hub)
        assert float(quote.impact or 0) == pytest.approx(float(expected), rel=1e-6)

    def test_the_slip_fee_is_part_of_the_impact(self, tmp_path: Path) -> None:
        quote = quoted(tmp_path, pool(SLIP), "DOT", "HDX", 10_000 * 10**10)

        # The trade moves DOT's side by one part in 100 of what is left there, and HDX's by more
        # than the 5 in 100 taken at most.
        hub = Fraction(20_000_000 * 10_000, 1_010_000) * Fraction(99, 100) * Fraction(95, 100)
        expected = 1 - 2_000_000 * hub / (2_000_000 + hub) / 200_000
        assert float(quote.impact or 0) == pytest.approx(float(expected), rel=1e-6)


class TestTheRoute:
    ROUTE = (
        {"pool": {"Stableswap": SHARE}, "asset_in": DOT, "asset_out": SHARE},
        {"pool": "Omnipool", "asset_in": SHARE, "asset_out": USDT},
    )

    def test_a_pair_is_sold_in_the_omnipool_where_the_chain_has_no_route(
        self, tmp_path: Path
    ) -> None:
        assert format_route(quoted(tmp_path, pool(), "10", "DOT", 10**7).route) == "10>omnipool>5"

    def test_the_chains_route_is_taken_in_the_order_of_its_ids(self, tmp_path: Path) -> None:
        route = [
            {"pool": "Omnipool", "asset_in": HDX, "asset_out": USDT},
            {"pool": "Omnipool", "asset_in": USDT, "asset_out": DOT},
        ]
        state = pool({("Router", "Routes", HDX, DOT): route})

        there = quoted(tmp_path, state, "HDX", "DOT", 10**15)
        back = quoted(tmp_path, state, "DOT", "HDX", TWO_DOT)

        assert format_route(there.route) == "0>omnipool>10>omnipool>5"
        assert format_route(back.route) == "5>omnipool>10>omnipool>0"
        assert there.warnings == (says("route", "twice"),)

    def test_a_route_of_the_chain_that_ends_elsewhere_is_refused(self, tmp_path: Path) -> None:
        state = pool(
            {
                ("Router", "Routes", HDX, DOT): [
                    {"pool": "Omnipool", "asset_in": HDX, "asset_out": USDT}
                ]
            }
        )

        error = refused(tmp_path, Chain(state), "HDX", "DOT", 10**15)

        assert str(error) == says("route", "10", "5")

    def test_each_hop_finds_the_pool_as_the_hop_before_left_it(self, tmp_path: Path) -> None:
        quote = quoted(tmp_path, pool(), "DOT", "HDX", 10**14, route="5>omnipool>10>omnipool>0")
        alone = quoted(tmp_path, pool(), "10", "HDX", quote.legs[0].amount_out)

        assert quote.legs[0].amount_out == quoted(tmp_path, pool(), "DOT", "10", 10**14).amount_out
        assert quote.legs[1].amount_in == quote.legs[0].amount_out
        # The hub asset that came in makes USDT dearer than before.
        assert quote.amount_out > alone.amount_out

    def test_other_pools_are_asked_in_a_dry_run_by_root(self, tmp_path: Path) -> None:
        seen: list[Any] = []

        def dry_run(origin: Any, call: Any) -> Any:
            seen.append((origin, call))
            sold = call["Utility"]["batch_all"]["calls"][1]["Currencies"]["update_balance"][
                "amount"
            ]
            acted = {"Utility": {"DispatchedAs": {"result": {"Ok": None}}}}
            # A price that falls with the size: 4 per cent less for a thousand times as much.
            return dry_run_answer(
                executed(sold, sold * 10**7 * (96 if sold == TWO_DOT else 100)), acted
            )

        state = pool(subpool(SHARE, reserve=10**25, hub=5_000_000 * 10**12))
        state["Router", "Routes", DOT, USDT] = self.ROUTE
        with quoting(Chain(state, dry_run=dry_run), tmp_path) as ask:
            quote = ask("DOT", "10", TWO_DOT)

        swap = {
            "asset_in": DOT,
            "asset_out": SHARE,
            "amount_in": TWO_DOT,
            "min_amount_out": 0,
            "route": [{"pool": {"Stableswap": SHARE}, "asset_in": DOT, "asset_out": SHARE}],
        }
        gifts = [
            {
                "Currencies": {
                    "update_balance": {"who": STAND_IN, "currency_id": asset, "amount": amount}
                }
            }
            for asset, amount in ((HDX, 10**16), (DOT, TWO_DOT))
        ]
        acted = {
            "Utility": {
                "dispatch_as": {
                    "as_origin": {"system": {"Signed": STAND_IN}},
                    "call": {"Router": {"sell": swap}},
                }
            }
        }
        assert seen[0] == (
            {"system": "Root"},
            {"Utility": {"batch_all": {"calls": [*gifts, acted]}}},
        )
        assert [leg.amount_in for leg in quote.legs] == [TWO_DOT, TWO_DOT * 96 * 10**7]
        assert quote.legs[0].impact == Fraction(4, 100)
        assert quote.impact is not None and quote.impact > Fraction(4, 100)
        assert quote.describe().startswith(
            f"2 DOT would buy {quote.amount_out / 10**6} USDT over "
            "5>stableswap:102>102>omnipool>10 in the block"
        )

    def test_a_pools_share_is_sold_without_there_being_more_of_it_than_before(
        self, tmp_path: Path
    ) -> None:
        """What the stand-in was given counted as issued, and each share of the pool as worth
        less."""
        seen: list[Any] = []

        def dry_run(_: Any, call: Any) -> Any:
            seen.append(call["Utility"]["batch_all"]["calls"])
            return dry_run_answer(executed(10**18, 13 * 10**6))

        state = pool(subpool(SHARE, reserve=10**25, hub=5_000_000 * 10**12))
        state["Tokens", "TotalIssuance", SHARE] = 10**24
        with quoting(Chain(state, dry_run=dry_run), tmp_path) as ask:
            ask("HDX", "10", 10**14, route="0>omnipool>102>stableswap:102>10")
            ask("DOT", "10", TWO_DOT, route="5>xyk>102>stableswap:102>10")

        issuance = storage_key(table(), "Tokens", "TotalIssuance", (SHARE,)).hex
        kept = [bytes.fromhex(issuance[2:]), (10**24).to_bytes(16, "little")]
        assert [list(call) for call in seen[0]] == [
            ["Currencies"],
            ["Currencies"],
            ["System"],
            ["Utility"],
        ]
        assert seen[0][2] == {"System": {"set_storage": {"items": [kept]}}}
        # What is earned on the way is no new share.
        assert [list(call) for call in seen[-1]] == [["Currencies"], ["Currencies"], ["Utility"]]

    @pytest.mark.parametrize("sender", [None, bytes.fromhex(BOB_HEX[2:])])
    def test_nothing_is_no_quote(self, tmp_path: Path, sender: bytes | None) -> None:
        chain = Chain(pool(), dry_run=lambda *_: dry_run_answer(executed(TWO_DOT, 0)))

        error = refused(tmp_path, chain, "DOT", "10", TWO_DOT, route="5>aave>10", sender=sender)

        assert str(error) == says("amount", "5>aave>10", "2", "DOT")

    def test_the_impact_is_unknown_where_a_small_amount_is_not_traded(self, tmp_path: Path) -> None:
        def dry_run(_: Any, call: Any) -> Any:
            sold = call["Utility"]["batch_all"]["calls"][1]["Currencies"]["update_balance"][
                "amount"
            ]
            if sold < TWO_DOT:
                return dry_run_answer(error={"Token": "BelowMinimum"})
            return dry_run_answer(executed(sold, 13 * 10**6))

        with quoting(Chain(pool(), dry_run=dry_run), tmp_path) as ask:
            quote = ask("DOT", "10", TWO_DOT, route="5>xyk>10")

        assert (quote.amount_out, quote.impact) == (13 * 10**6, None)
        assert quote.warnings == (says("impact", "limited"),)

    def test_what_goes_on_with_a_contracts_token_is_dry_run_from_the_start(
        self, tmp_path: Path
    ) -> None:
        state = pool(subpool(CONTRACT, reserve=1, hub=500_000 * 10**12))
        state["AssetRegistry", "Assets", CONTRACT] = registered("Erc20")
        chain = Chain(state, dry_run=lambda *_: dry_run_answer(executed(TWO_DOT, 12 * 10**6)))
        chain.contract_balances[CONTRACT] = 1_000_000 * 10**18

        with quoting(chain, tmp_path) as ask:
            quote = ask("DOT", "10", TWO_DOT, route="5>omnipool>222>aave>10")

        assert [len(leg.hops) for leg in quote.legs] == [2]
        assert quote.warnings == (says("quote", "0.3"),)


class TestTheSendersDryRun:
    BOB = bytes.fromhex(BOB_HEX[2:])

    def sold_by_bob(self, path: Path, received: int, **error: Any) -> Quote:
        def dry_run(origin: Any, _: Any) -> Any:
            assert origin == {"system": {"Signed": self.BOB}}
            return dry_run_answer(executed(TWO_DOT, received), **error)

        with quoting(Chain(BUSY, dry_run=dry_run), path) as ask:
            return ask("DOT", "HDX", TWO_DOT, sender=self.BOB)

    def test_it_may_differ_by_what_the_fees_change_too(self, tmp_path: Path) -> None:
        # Here by 0.04 %, and on a busy chain by more than the tolerance.
        quote = self.sold_by_bob(tmp_path, 1963_700_000_000_000)

        assert (quote.amount_out, quote.warnings) == (1957124423891189, ())

    def test_a_quote_that_it_contradicts_is_refused(self, tmp_path: Path) -> None:
        with raises(ChainRefused, says("1940", "HDX", "1957.124423891189", "0.875", "0.3403")):
            self.sold_by_bob(tmp_path, 1940_000_000_000_000)

    @pytest.mark.parametrize(
        ("moved", "room"),
        [
            ((), "0.3"),
            (MOVED_HDX, "0.3387"),
            (MOVED_DOT, "0.3016"),
            ((*MOVED_HDX, *MOVED_DOT), "0.3403"),
        ],
        ids=["quiet", "the asset fee", "the protocol fee", "both"],
    )
    def test_how_much_the_fees_of_the_next_block_change(
        self, tmp_path: Path, moved: tuple[State, ...], room: str
    ) -> None:
        with Node(Chain(pool(*moved)).answers()) as node:
            app = application(tmp_path, node)
            dex = app.registry.find("hydraDx")
            sold, bought = app.assets.find(dex, "DOT"), app.assets.find(dex, "HDX")
            found = finish(fetch_room(app.client(dex), sold, bought, ()))
            finish(app.close())

        assert percent(found) == room

    def test_a_sender_who_cannot_swap_is_told(self, tmp_path: Path) -> None:
        quote = self.sold_by_bob(tmp_path, 0, error={"Token": "FundsUnavailable"})

        assert quote.amount_out == 1957124423891189
        assert quote.warnings == (says("Hydration", "5>omnipool>0", "Token.FundsUnavailable"),)


def frozen(asset: int, tradable: int) -> State:
    return pool(
        subpool(
            asset, reserve=10**16 if asset == DOT else 10**20, hub=2 * 10**19, tradable=tradable
        )
    )


GIVE = "Set the minimum with `min_received` and `exact_minimum`."

#: What is asked, of which pool, and what is said.
REFUSED: tuple[tuple[str, State, tuple[Any, ...], dict[str, Any], str, Says], ...] = (
    (
        *("an asset that is not in the Omnipool", pool(), ("DOT", "ASTR", TWO_DOT), {}),
        *("invalid_request", says("9 (ASTR", "not in the Omnipool", "from 5 to 9", "route")),
    ),
    (
        *("a route with an asset that is not there", pool(), ("DOT", "HDX", TWO_DOT)),
        {"route": "5>omnipool>9>omnipool>0"},
        *("invalid_request", says("9 is not in the Omnipool", "route")),
    ),
    (
        *("an asset that can be bought and not sold", frozen(DOT, 2), ("DOT", "HDX", TWO_DOT), {}),
        *("chain_refused", says("5 (DOT", "cannot be sold", "only the other direction")),
    ),
    (
        *("an asset that can be sold and not bought", frozen(HDX, 13), ("DOT", "HDX", TWO_DOT)),
        *({}, "chain_refused", says("HDX", "cannot be bought", "only the other direction")),
    ),
    (
        *("the hub asset bought", pool(), ("DOT", "LRNA", TWO_DOT), {}),
        *("invalid_request", says("asset_out 1 (LRNA) cannot be bought", "NotAllowed")),
    ),
    (
        "the hub asset sold where that is forbidden",
        *(pool({("Omnipool", "HubAssetTradability"): {"bits": 0}}), ("LRNA", "DOT", 10**12), {}),
        *("chain_refused", says("1 (LRNA) cannot be sold", "HubAssetTradability")),
    ),
    (
        *("less than the smallest trade", pool(), ("DOT", "HDX", 999), {}),
        *("invalid_request", says("amount 999", "at least 1000")),
    ),
    (
        *("more than a third of the reserve", pool(), ("DOT", "HDX", 10**16 // 3 + 1), {}),
        *("invalid_request", says("333333.3333333334 DOT", "at most 333333.3333333333 DOT")),
    ),
    (
        *("more than a third of the other reserve", pool(), ("DOT", "HDX", 100_000 * 10**10), {}),
        "invalid_request",
        says("47487556.56108597284 HDX", "at most 33333333.333333333333 HDX"),
    ),
    (
        "more than an asset may move in a block",
        pool({("CircuitBreaker", "TradeVolumeLimitPerAsset", DOT): (100, 10_000)}),
        *(("DOT", "HDX", 10_001 * 10**10), {}),
        *("invalid_request", says("amount 10001 DOT", "at most 10000 DOT")),
    ),
    (
        "more than an asset may lose in a block",
        pool({("CircuitBreaker", "TradeVolumeLimitPerAsset", HDX): (1, 10_000)}),
        *(("DOT", "HDX", 11 * 10**10), {}),
        *("invalid_request", says("10965.687504924696 HDX", "at most 10000 HDX")),
    ),
    (
        *("a pool that holds nothing", pool(subpool(HDX, reserve=0, hub=10**18))),
        *(("DOT", "HDX", TWO_DOT), {}, "chain_refused", says("no HDX", "no price")),
    ),
    (
        "a way that begins with a contract's token",
        pool({("AssetRegistry", "Assets", CONTRACT): registered("Erc20")}),
        *(("222", "10", 10**18), {"route": "222>stableswap:110>10"}),
        *("invalid_request", says("222 (HOLLAR)", "222>stableswap:110>10", "sender", GIVE)),
    ),
)


@pytest.mark.parametrize(
    ("state", "asked", "options", "code", "sentence"),
    [row[1:] for row in REFUSED],
    ids=[row[0] for row in REFUSED],
)
def test_a_trade_that_would_fail_is_refused_in_a_sentence(
    tmp_path: Path,
    state: State,
    asked: tuple[Any, ...],
    options: dict[str, Any],
    code: str,
    sentence: Any,
) -> None:
    error = refused(tmp_path, Chain(state), *asked, **options)

    assert (error.code, str(error)) == (code, sentence)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            lambda *_: dry_run_answer(
                {
                    "Utility": {
                        "DispatchedAs": {
                            "result": {"Err": {"Module": {"index": 74, "error": b"\x0f\0\0\0"}}}
                        }
                    }
                }
            ),
            says("Hydration", "5>xyk>10", "XYK.SellAssetAmountInvalid"),
        ),
        (lambda *_: dry_run_answer(), says("Hydration", "5>xyk>10")),
    ],
    ids=["the trade fails", "nothing happens"],
)
def test_a_failed_dry_run_is_named(tmp_path: Path, answer: Any, sentence: Any) -> None:
    error = refused(tmp_path, Chain(pool(), dry_run=answer), "DOT", "10", TWO_DOT, route="5>xyk>10")

    assert (error.code, str(error)) == ("chain_refused", sentence)


def test_a_node_without_dry_runs_leaves_the_minimum_to_the_caller(tmp_path: Path) -> None:
    def no_dry_run(*_: Any) -> Any:
        raise Refusal(-32601, "Method not found")

    error = refused(
        tmp_path, Chain(pool(), dry_run=no_dry_run), "DOT", "10", TWO_DOT, route="5>xyk>10"
    )

    assert str(error).startswith("Hydration cannot dry-run 5>xyk>10: ws://127.0.0.1:")
    assert str(error).endswith("refused state_call: Method not found (-32601). " + GIVE)


class TestCommands:
    SWAP = ("--assetin", "DOT", "--assetout", "HDX", "--amount")

    @pytest.fixture
    def node(self) -> Iterator[Node]:
        with Node(Chain(BUSY).answers()) as node:
            yield node

    @pytest.fixture
    def run(self, node: Node, tmp_path: Path, scenarioctl: Run) -> Run:
        config = write_config(tmp_path, node)
        return lambda *line: scenarioctl(*line, "--config", config)

    def test_a_quote_has_its_price_and_its_fees(self, run: Run) -> None:
        ended = run("quote", *self.SWAP, "2", "--json")

        route = [{"pool": "Omnipool", "asset_in": 5, "asset_out": 0}]
        assert (ended.code, ended.err) == (0, "")
        assert json.loads(ended.out) == {
            "sold": "2 DOT",
            "received": "1957.124423891189 HDX",
            "at_least": "1937.553179652277 HDX",
            "amount_in": "20000000000",
            "amount_out": "1957124423891189",
            "min_amount_out": "1937553179652277",
            "price": "978.562211946",
            "impact_percent": "0.0022",
            "asset_fee": "2.0622",
            "protocol_fee": "0.0811",
            "route": route,
            "block": BLOCK,
            "block_hash": HEAD,
            "spec_version": 428,
            "asked": 1,
        }

    def test_every_draft_quotes_anew(self, run: Run, node: Node) -> None:
        scenario = run("create", "swap", *self.SWAP, "2", "--slippage", "0.5").out.strip()
        first = run("scenario", "full", scenario, "--field", "tx")
        node.answers |= Chain(pool()).answers()
        second = run("scenario", "full", scenario, "--field", "tx")

        assert "at least 1947.338801771733 HDX with a slippage of 0.5 %" in first.err
        assert "at least 1983.988859584931 HDX with a slippage of 0.5 %" in second.err
        assert first.out != second.out

    def test_a_swap_that_spoils_its_own_price_is_refused_unless_told(self, run: Run) -> None:
        refusal = run("create", "swap", *self.SWAP, "10000")
        allowed = run("create", "swap", *self.SWAP, "10000", "--max-impact", "12")

        assert (refusal.code, refusal.out) == (2, "")
        assert refusal.err == says("amount", "10000", "DOT", "9.9099", "5").printed
        assert allowed.code == 0

    def minimum(self, swap_tx: str) -> int:
        """Return the last argument of Omnipool.sell."""
        return int.from_bytes(bytes.fromhex(swap_tx[2:])[-16:], "little")

    @pytest.mark.parametrize(
        ("options", "minimum", "said"),
        [
            (
                ("--min-amount-out", "140", "--yes"),
                1937553179652277,
                says("1937.553179652277", "HDX", "0.00000000014"),
            ),
            (
                ("--min-amount-out", "140", "--exact-minimum", "--yes"),
                140,
                says("0.00000000014", "HDX", "99.9999"),
            ),
            (
                ("--min-amount-out", "2000000000000000", "--exact-minimum"),
                2000000000000000,
                says("2000", "HDX", "1957.124423891189"),
            ),
            (("--slippage", "60"), 782849769556475, says("782.849769556475", "HDX", "60")),
        ],
        ids=["a floor", "far below", "too high", "a wide slippage"],
    )
    def test_the_larger_of_minimum_and_quote_is_drafted_unless_it_is_exact(
        self, run: Run, options: tuple[str, ...], minimum: int, said: Says
    ) -> None:
        ended = run("create", "swap", *self.SWAP, "2", *options)
        again = run("scenario", "full", ended.out.strip(), "--field", "tx")

        assert self.minimum(again.out.strip()) == minimum
        lines = again.err.splitlines(keepends=True)
        told = "".join(each for each in lines if not each.startswith("What it does"))
        # What was confirmed is not warned of again until the next draft.
        assert told.startswith(ended.said)
        assert ("--yes" in options and "--exact-minimum" in options) == (told != ended.said)
        assert told.partition("0.0811 %); ")[2] == said

    @pytest.mark.parametrize(
        ("line", "sentence"),
        [
            (
                ("2", "--min-amount-out", "2000000000000000"),
                "min_amount_out 2000 HDX is more than the swap would buy now, "
                "1957.124423891189 HDX: the swap would fail on chain. "
                "Lower the minimum, or use it as it is with --exact-minimum.",
            ),
            (
                ("400000", "--min-amount-out", "5"),
                (
                    "amount 400000 DOT is more than the Omnipool accepts in one trade: at most "
                    "333333.3333333333 DOT"
                ),
            ),
            (
                ("10000", "--min-amount-out", "140", "--exact-minimum", "--max-impact", "9"),
                "amount 10000 DOT is so large that it moves the price by 9.9099 %, more than 9 %",
            ),
            (
                ("2", "--exact-minimum", "--min-amount-out", "5", "--slippage", "1"),
                "exact_minimum takes min_amount_out as it stands, expected no slippage beside it\n",
            ),
        ],
        ids=["below the floor", "no quote", "impact, exact", "two bounds"],
    )
    def test_a_minimum_switches_no_other_bound_off(
        self, run: Run, line: tuple[str, ...], sentence: str
    ) -> None:
        ended = run("create", "swap", *self.SWAP, *line)

        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith(f"Error: {sentence}")

    def test_an_exact_minimum_stands_without_a_quote_and_that_is_said(
        self, run: Run, node: Node
    ) -> None:
        node.answers |= Chain(frozen(HDX, 0)).answers()
        line = ("create", "swap", *self.SWAP, "2", "--min-amount-out", "5")
        refused, exact = run(*line), run(*line, "--exact-minimum", "--field", "swap.swap_tx")

        reason = (
            "HDX (the native asset) cannot be bought in the Omnipool of Hydration now: its "
            "trading is frozen"
        )
        assert (refused.code, refused.err) == (6, f"Error: {reason}\n")
        assert self.minimum(exact.out.strip()) == 5
        assert exact.err.splitlines()[-1] == says(reason, "0.000000000005", "HDX", "max_impact")

    def test_offline_a_minimum_stands_and_an_absurd_one_is_warned_of(self, run: Run) -> None:
        line = ("--offline", "create", "swap", *self.SWAP, "2", "--min-amount-out")
        small, enough = run(*line, "1999999"), run(*line, "2000000")
        meant = run(*line, "1999999", "--yes")
        again = run("--offline", "scenario", "full", meant.out.strip())

        note = "HDX, the minimum given; offline it is not compared with a quote"
        assert (small.out, small.code) == ("", 2)
        assert (
            small.err
            == says("0.000001999999", "HDX", "2", "DOT", "min_amount_out", "--yes").printed
        )
        assert meant.said.splitlines()[0] == says("0.000001999999", note)
        assert ("millionth" in meant.err, "millionth" in again.err) == (False, True)
        assert "millionth" not in enough.err

    @pytest.mark.parametrize("exact", [(), ("--exact-minimum",)], ids=["floor", "exact"])
    def test_a_minimum_far_below_the_quote_has_to_be_confirmed(
        self, run: Run, exact: tuple[str, ...]
    ) -> None:
        line = ("create", "swap", *self.SWAP, "2", *exact, "--min-received")
        far, half = run(*line, "978.5"), run(*line, "978.6")
        confirmed = run(*line, "978.5", "--yes")
        listed = json.loads(run("scenario", "list", "--json").out)

        assert (far.out, far.code) == ("", 2)
        assert far.err == says("978.5", "50.0031", "--yes").printed
        assert (half.code, confirmed.code) == (0, 0)
        assert listed["total"] == 2
