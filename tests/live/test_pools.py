"""Swaps over other pools than the Omnipool, which the chain's own dry run quotes: stable pools, XYK
pools, a money market.

What the chain lacks of them is made here: an XYK pool by anybody, a stable pool by root, whose
calls the scheduler makes. The money market is the one whose contracts stand in the chain's state.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import decode_extrinsic
from scenarioctl.transactions.swap.swap_call import Quote, format_route, parse_route
from tests.conftest import Run
from tests.live.conftest import Live
from tests.live.market import (
    DAI,
    DOT,
    HDX,
    SHARE,
    USDT,
    Market,
    make_stable_pool,
    make_xyk_pool,
    open_market,
)
from tests.live.setup import act_as_root
from tests.messages import says
from tests.runner import finish

pytestmark = pytest.mark.live

#: What the money market owes for DOT.
LENT_DOT = 1000037
#: The largest amount of each asset that is sold, in the smallest unit.
AMOUNTS = {
    HDX: 3000 * 10**12,
    DOT: 10**11 + 7,
    USDT: 50 * 10**6,
    DAI: 70 * 10**18,
    SHARE: 40 * 10**18,
}
ROUTES = (
    "10>stableswap:100>18",
    "18>stableswap:100>10",
    # A share is bought and sold by adding to the pool and taking from it.
    "10>stableswap:100>100",
    "100>stableswap:100>18",
    "10>stableswap:100>100>omnipool>5",
    "5>omnipool>100>stableswap:100>18",
    "0>omnipool>100>stableswap:100>10",
    "10>xyk>5",
    "10>xyk>5>omnipool>0",
    "0>omnipool>5>xyk>10",
    "18>stableswap:100>10>xyk>5",
    "5>aave>1000037",
    "0>omnipool>5>aave>1000037",
    "10>xyk>5>aave>1000037",
)
#: Which begin with a contract's token: nobody can be given it in a dry run.
LENT = ("1000037>aave>5", "1000037>aave>5>omnipool>0")


@pytest.fixture
def market(live_app: Application, omnipool: Live) -> Iterator[Market]:
    with open_market(live_app, omnipool.name) as market:
        make_stable_pool(market)
        make_xyk_pool(market)
        _open_money_market(market)
        yield market


def _open_money_market(market: Market) -> None:
    """Tell the chain which of its contracts the money market is: a snapshot of its state may lack
    that."""
    place = finish(market.client.storage("AssetRegistry", "AssetLocations", LENT_DOT))
    token = place["interior"]["X1"][0]["AccountKey20"]["key"]
    answer = _view(market, token, "7535d246")  # POOL()
    contract = answer["Ok"]["value"][12:32]
    if finish(market.client.storage("Liquidation", "BorrowingContract")) != contract:
        act_as_root(
            market.app,
            market.chain,
            Call(pallet="EVMAccounts", method="approve_contract", args={"address": contract}),
            Call(
                pallet="Liquidation", method="set_borrowing_contract", args={"contract": contract}
            ),
        )


def _view(market: Market, contract: bytes, selector: str) -> Any:
    arguments = {
        "from": bytes(20), "to": contract, "data": bytes.fromhex(selector), "value": 0,
            "gas_limit": 10**7, "estimate": False,
    }  # fmt: skip
    fields = market.table.api_method("EthereumRuntimeRPCApi", "call").inputs
    return finish(
        market.client.runtime_call(
            "EthereumRuntimeRPCApi", "call", *(arguments.get(field.name) for field in fields)
        )
    )


def quote_route(market: Market, route: str, amount: int = 0, **options: Any) -> Quote:
    hops = parse_route(route, field="route")
    sold, bought = hops[0].asset_in, hops[-1].asset_out
    return market.quote(sold, bought, amount or AMOUNTS[sold], route, **options)


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_over_other_pools_brings_what_was_quoted(
    market: Market, route: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quote = quote_route(market, route)
    checked = quote_route(market, route, sender=market.alice.public_key)

    brought = market.sell(quote)

    with capsys.disabled():
        print(
            f"\n{route:<40} quoted {quote.amount_out:>24}  brought {brought:>24}  "
            f"deviation {brought - quote.amount_out}"
        )
    assert (checked.amount_out, checked.warnings) == (quote.amount_out, quote.warnings)
    assert quote.impact is not None and 0 <= quote.impact < 1
    assert brought == quote.amount_out


@pytest.mark.parametrize("route", LENT)
def test_what_the_money_market_owes_is_quoted_for_its_holder(
    market: Market, route: str, capsys: pytest.CaptureFixture[str]
) -> None:
    market.sell(quote_route(market, "5>aave>1000037"))

    with pytest.raises(
        InvalidRequest,
        match=r"can be quoted only for an account that holds it \(sender\)\. Set the minimum",
    ):
        quote_route(market, route, 10**10)
    quote = quote_route(market, route, 10**10, sender=market.alice.public_key)
    brought = market.sell(quote)

    with capsys.disabled():
        print(
            f"\n{route:<40} quoted {quote.amount_out:>24}  brought {brought:>24}  "
            f"deviation {brought - quote.amount_out}"
        )
    assert quote.warnings == ()
    assert brought == quote.amount_out


def test_a_route_that_the_chain_keeps_is_taken_there_and_back(market: Market) -> None:
    route = parse_route("10>stableswap:100>100>omnipool>5", field="route")
    pair = {"asset_in": DOT, "asset_out": USDT}
    turned = [
        {"pool": hop.value["pool"], "asset_in": hop.asset_out, "asset_out": hop.asset_in}
        for hop in reversed(route)
    ]
    force = Call(
        pallet="Router", method="force_insert_route", args={"asset_pair": pair, "new_route": turned}
    )
    act_as_root(market.app, market.chain, force)

    there, back = market.quote(USDT, DOT, 50 * 10**6), market.quote(DOT, USDT, 10**10)
    brought = [market.sell(there), market.sell(market.quote(DOT, USDT, 10**10))]

    assert format_route(there.route) == "10>stableswap:100>100>omnipool>5"
    assert format_route(back.route) == "5>omnipool>100>stableswap:100>10"
    assert brought[0] == there.amount_out
    # The first trade has moved the prices.
    assert 0 < brought[1] / back.amount_out - 1 < 0.1


def test_a_swap_of_the_command_takes_the_least_from_such_a_quote(
    market: Market, scenarioctl: Run, live_config: Path
) -> None:
    line = ("--config", str(live_config), "--json", "create", "swap", "--chain", market.chain.name)
    swap = (
        "--assetin",
        "USDT",
        "--assetout",
        "DAI",
        "--amount",
        "50",
        "--route",
        "10>stableswap:100>18",
    )

    drafted = json.loads(scenarioctl(*line, *swap, "--slippage", "0.5").out)
    call = decode_extrinsic(market.table, bytes.fromhex(drafted["swap"]["swap_tx"][2:])).call
    brought = market.execute(call)

    assert (call.pallet, call.method) == ("Router", "sell")
    assert call.args["min_amount_out"] == brought * 995 // 1000


def test_a_swap_is_quoted_signed_and_broadcast_and_brings_what_was_quoted(
    market: Market, scenarioctl: Run, live_config: Path, tmp_path: Path
) -> None:
    """All of it by the program, but for the signature."""

    def ask(*line: str) -> Any:
        ended = scenarioctl("--config", str(live_config), "--json", *line)
        assert ended.code == 0, ended
        return json.loads(ended.out)

    chain, sender = (
        ("--chain", market.chain.name),
        ("--sender", "0x" + market.alice.public_key.hex()),
    )
    swap = (
        "--assetin",
        "DOT",
        "--assetout",
        "HDX",
        "--amount",
        "2",
        "--route",
        "5>omnipool>0",
        *chain,
    )

    quote = ask("quote", *swap, *sender)
    drafted = ask("create", "swap", *swap)["swap"]["swap_tx"]
    payload = ask("tx", "payload", drafted, *chain, *sender)
    signature = market.alice.sign(bytes.fromhex(payload["bytes_to_sign"][2:]))
    file = tmp_path / "payload.json"
    file.write_text(json.dumps(payload))
    signed = ask("tx", "assemble", "--payload", str(file), "--signature", "0x" + signature.hex())[
        "tx"
    ]
    done = ask("broadcast", market.chain.name, signed, "--wait", "finalized")

    (sold,) = (
        event["Omnipool"]["SellExecuted"]
        for event in done["events"]
        if "SellExecuted" in event.get("Omnipool", {})
    )
    assert done["success"] is True
    assert sold["amount_out"] == quote["amount_out"]
    assert int(quote["min_amount_out"]) == int(quote["amount_out"]) * 99 // 100


def test_a_swap_that_worsens_its_own_price_is_refused_unless_told(
    market: Market, scenarioctl: Run, live_config: Path
) -> None:
    line = ("--config", str(live_config), "--json", "create", "swap", "--chain", market.chain.name)
    swap = (
        "--assetin",
        "USDT",
        "--assetout",
        "DAI",
        "--amount",
        "900000",
        "--route",
        "10>stableswap:100>18",
    )

    refused = scenarioctl(*line, *swap)
    allowed = scenarioctl(*line, *swap, "--max-impact", "99")

    assert refused.code == 2
    error = json.loads(refused.out)["error"]
    assert error.startswith("amount 900000 USDT is so large that it moves the price by ")
    assert error.endswith(
        " %, more than 5 %: sell less in one trade. Or allow it with `max_impact`."
    )
    assert allowed.code == 0, allowed


def test_a_market_that_gives_nothing_is_no_quote(market: Market) -> None:
    kept = finish(market.client.storage("Liquidation", "BorrowingContract"))
    nobody = Call(
        pallet="Liquidation", method="set_borrowing_contract", args={"contract": b"\x77" * 20}
    )
    act_as_root(market.app, market.chain, nobody)

    for sender in (None, market.alice.public_key):
        with pytest.raises(InvalidRequest) as refused:
            quote_route(market, "5>aave>1000037", 10**10, sender=sender)
        assert str(refused.value) == says("amount", "5>aave>1000037")

    back = Call(pallet="Liquidation", method="set_borrowing_contract", args={"contract": kept})
    act_as_root(market.app, market.chain, back)
