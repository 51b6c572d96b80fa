"""Swaps: the bytes, the route, the minimum that is never 0."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import Draft
from scenarioctl.transactions.swap.swap_call import Swap, build_swap, parse_route
from tests.messages import Says, raises, says
from tests.runtimes import ASSETS, REGISTRY, bundled, vectors

DEX = REGISTRY.find("hydraDx")


def swap(
    asset_in: object,
    asset_out: object,
    amount: int,
    minimum: int,
    route: object = None,
    chain: str = "hydraDx",
) -> Draft:
    where = REGISTRY.find(chain)
    wanted = Swap(
        chain=where,
        asset_in=ASSETS.find(where, asset_in),
        asset_out=ASSETS.find(where, asset_out),
        amount=amount,
        min_amount_out=minimum,
        route=None if route is None else parse_route(route, field="route"),
    )
    return build_swap(wanted, bundled(chain))


def vector(number: str) -> dict[str, Any]:
    return next(entry for entry in vectors("codec") if entry["id"] == number)


def encoded(draft: Draft) -> str:
    return "0x" + bundled("hydraDx").encode_call(draft.call).hex()


IN_THE_POOL = (
    "without a route, the swap goes straight through the Omnipool: if it does not hold "
    "both 5 (DOT, Polkadot) and HDX "
    "(the native asset), the swap fails and you still pay the fee"
)


def test_one_hop_is_a_sale_in_the_omnipool() -> None:
    draft = swap(5, 0, 10**10, 10**15)

    assert encoded(draft) == vector("prim-123")["callHex"]
    assert draft.warnings == (IN_THE_POOL,)


def test_one_omnipool_hop_as_a_route_is_the_same_call_without_the_warning() -> None:
    draft = swap(5, 0, 10**10, 10**15, "5>omnipool>0")

    assert draft == Draft(call=swap(5, 0, 10**10, 10**15).call)


@pytest.mark.parametrize(
    "route",
    [
        "0>omnipool>102>stableswap:102>10",
        [
            {"pool": "omnipool", "asset_in": "0", "asset_out": "102"},
            {"pool": {"stableswap": "102"}, "asset_in": 102, "asset_out": 10},
        ],
    ],
)
def test_a_longer_route_goes_through_the_router(route: object) -> None:
    draft = swap(0, 10, 10**15, 4 * 10**6, route)

    assert encoded(draft) == vector("prim-120")["callHex"]
    assert draft.warnings == ()


def test_one_hop_elsewhere_goes_through_the_router() -> None:
    draft = swap(1001, 5, 10**10, 10**10, "1001>aave>5")

    assert draft.call == Call(
        pallet="Router",
        method="sell",
        args={
            "asset_in": 1001,
            "asset_out": 5,
            "amount_in": 10**10,
            "min_amount_out": 10**10,
            "route": [{"pool": "Aave", "asset_in": 1001, "asset_out": 5}],
        },
    )


@given(
    amount=st.integers(min_value=1000, max_value=2**128 - 1),
    minimum=st.integers(min_value=1, max_value=2**128 - 1),
    between=st.lists(
        st.tuples(
            st.sampled_from(["xyk", "lbp", "omnipool", "aave", "hsm", "stableswap:102"]),
            st.integers(1000, 9999),
        ),
        max_size=8,
        unique_by=lambda hop: hop[1],
    ),
)
def test_what_is_encoded_decodes_to_what_was_meant(
    amount: int, minimum: int, between: list[tuple[str, int]]
) -> None:
    route = "0>" + "".join(f"{pool}>{asset}>" for pool, asset in between) + "omnipool>5"

    draft = swap(0, 5, amount, minimum, route)

    table = bundled("hydraDx")
    assert table.decode_call(table.encode_call(draft.call)) == draft.call
    assert (
        ">".join(str(hop).partition(">")[2] for hop in parse_route(route, field="route"))
        == route[2:]
    )


def test_lrna_can_be_sold_with_a_warning() -> None:
    draft = swap(1, 0, 10**12, 1, "1>omnipool>0")

    assert draft.warnings == (says("LRNA", "HubAssetTradability"),)


NOT_FOR_SALE = (
    "asset_out 1 (LRNA) cannot be bought: the Omnipool does not sell its hub asset (NotAllowed)"
)


@pytest.mark.parametrize(
    ("asset_in", "asset_out", "amount", "minimum", "route", "sentence"),
    [
        (0, 1, 10**12, 1, None, NOT_FOR_SALE),
        (0, 5, 10**12, 1, "0>omnipool>1>xyk>5", NOT_FOR_SALE),
        (10, 5, 10**12, 1, "10>xyk>0>omnipool>1>xyk>5", NOT_FOR_SALE),
        (5, "DOT", 10**12, 1, None, says("asset_out", "5", "DOT")),
        (5, 0, 10**12, 0, None, says("min_amount_out", "0")),
        (5, 0, 10**12, 2**128, None, says("min_amount_out", 2**128)),
        (5, 0, 0, 1, None, says("amount", "0")),
        (5, 0, 2**128, 1, None, says("amount", 2**128)),
        (5, 0, 999, 1, None, says("amount", "999")),
        (5, 0, 10**10, 1, "5>omnipool>10", says("route", "10")),
        (5, 0, 10**10, 1, "10>omnipool>0", says("route", "10", "5")),
    ],
)
def test_a_swap_that_cannot_be_made_is_refused(
    asset_in: object, asset_out: object, amount: int, minimum: int, route: object, sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        swap(asset_in, asset_out, amount, minimum, route)


@pytest.mark.parametrize(
    ("route", "sentence"),
    [
        (
            [
                {"pool": "Omnipool", "asset_in": 5, "asset_out": 1},
                {"pool": "xyk", "asset_in": 2, "asset_out": 0},
            ],
            says("route[1]", "2"),
        ),
        ("5>foo>0", says("route[0].pool", "foo")),
        ([{"pool": None, "asset_in": 5, "asset_out": 1}], says("route[0].pool")),
        ("5>stableswap>0", says("route[0].pool", "stableswap")),
        ("5>xyk:4>0", "route[0].pool 'xyk:4' has an id, expected 'XYK' alone"),
        ("5>stableswap:x>0", says("route[0].pool", "x")),
        ("5>omnipool>5", says("route[0]", "5")),
        ("DOT>omnipool>0", says("route[0].asset_in", "DOT")),
        ("5>omnipool>4294967296", says("route[0].asset_out", "4294967296")),
        ("5>omnipool", says("route", "5>omnipool")),
        ("5", says("route", "5")),
        (">" * 2000, says("route", ">" * 58)),
        (5, says("route", "5")),
        ([], says("route")),
        ([5], says("route[0]", "5", "asset_in", "asset_out")),
        ([{"pool": "XYK", "asset_in": 5}], says("route[0]", "asset_in", "5", "pool")),
        ([{"pool": "XYK", "asset_in": True, "asset_out": 0}], says("route[0].asset_in", "asset")),
        ("0>xyk>1>xyk>2>xyk>3>xyk>4>xyk>5>xyk>6>xyk>7>xyk>8>xyk>9>xyk>10", says("route", "9")),
    ],
)
def test_a_route_that_is_none_is_refused(route: object, sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        parse_route(route, field="route")


def test_a_swap_is_made_on_an_exchange() -> None:
    with pytest.raises(InvalidRequest) as elsewhere:
        swap("DOT", 1984, 10**10, 1, chain="assetHub")
    mixed = Swap(
        chain=DEX,
        asset_in=ASSETS.find(REGISTRY.find("polkadot"), 0),
        asset_out=ASSETS.find(DEX, 0),
        amount=10**10,
        min_amount_out=1,
    )
    with pytest.raises(InvalidRequest) as foreign:
        build_swap(mixed, bundled("hydraDx"))

    assert str(elsewhere.value) == says("assetHub", "hydraDx")
    assert str(foreign.value) == says("asset_in", "DOT", "Hydration")
