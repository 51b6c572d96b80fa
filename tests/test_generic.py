"""Any call from text: what fits, and what is said of what does not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.call_builder import build_call, build_remark
from scenarioctl.transactions.extrinsic import Draft
from scenarioctl.transactions.inner_calls import DISPATCH_PRECOMPILE
from scenarioctl.transactions.values import ValueReader
from tests.messages import Says, raises, says
from tests.runtimes import BOB, BOB_ADDRESS, bundled, find_type

ACCOUNT = (
    "an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or 0x and 64 hex digits"
)


def build(chain: str, pallet: object, method: object, **params: object) -> Draft:
    return build_call(pallet, method, params, bundled(chain))


@pytest.mark.parametrize(
    ("chain", "pallet", "method", "params", "arguments"),
    [
        ("polkadot", "System", "remark", {"remark": "hello"}, {"remark": b"hello"}),
        ("polkadot", "system", "REMARK", {"remark": "0x00ff"}, {"remark": b"\0\xff"}),
        ("polkadot", "system", "remark", {"remark": "Grüße"}, {"remark": "Grüße".encode()}),
        (
            "polkadot",
            "balances",
            "transferKeepAlive",
            {"dest": BOB_ADDRESS, "value": "12345678900"},
            {"dest": {"Id": BOB}, "value": 12345678900},
        ),
        (
            "polkadot",
            "balances",
            "transfer-keep-alive",
            {"dest": f'{{"Id": "{BOB_ADDRESS}"}}', "value": 5},
            {"dest": {"Id": BOB}, "value": 5},
        ),
        (
            "polkadot",
            "balances",
            "transfer_all",
            {"dest": BOB_ADDRESS, "keepAlive": "true"},
            {"dest": {"Id": BOB}, "keep_alive": True},
        ),
        (
            "assetHub",
            "staking",
            "bond",
            {"value": "1", "payee": f'{{"Account": "{BOB_ADDRESS}"}}'},
            {"value": 1, "payee": {"Account": BOB}},
        ),
        (
            "hydraDx",
            "router",
            "sell",
            {
                "assetIn": "5",
                "assetOut": "10",
                "amountIn": "100",
                "minAmountOut": "1",
                "route": '[{"pool": {"Stableswap": 102}, "asset_in": 5, "asset_out": "10"}]',
            },
            {
                "asset_in": 5,
                "asset_out": 10,
                "amount_in": 100,
                "min_amount_out": 1,
                "route": [{"pool": {"Stableswap": 102}, "asset_in": 5, "asset_out": 10}],
            },
        ),
        (
            "hydraDx",
            "utility",
            "batch_all",
            {"calls": '["0x01001468656c6c6f", {"System": {"remark": {"remark": "x"}}}]'},
            {
                "calls": [
                    {"System": {"remark": {"remark": b"hello"}}},
                    {"System": {"remark": {"remark": b"x"}}},
                ]
            },
        ),
        (
            "polkadot",
            "system",
            "set_storage",
            {"items": '[["0x01", "two"], [[1, 2], ""]]'},
            {"items": [[b"\1", b"two"], [b"\1\2", b""]]},
        ),
        (
            "polkadot",
            "XcmPallet",
            "force_default_xcm_version",
            {"maybe_xcm_version": "5"},
            {"maybe_xcm_version": 5},
        ),
    ],
)
def test_text_becomes_what_the_runtime_takes(
    chain: str, pallet: str, method: str, params: dict[str, object], arguments: dict[str, Any]
) -> None:
    draft = build(chain, pallet, method, **params)

    assert draft.call.args == arguments
    assert bundled(chain).decode_call(bundled(chain).encode_call(draft.call)) == draft.call


TRANSFER = {"dest": BOB_ADDRESS, "value": "1"}
PAY = ("balances", "transfer_keep_alive")


@pytest.mark.parametrize(
    ("pallet", "method", "params", "sentence"),
    [
        (*PAY, TRANSFER | {"value": "1.5"}, says("value", "1.5", "u128", "1000")),
        (*PAY, TRANSFER | {"value": str(2**128)}, says("value", 2**128, "u128", 2**128 - 1)),
        (*PAY, TRANSFER | {"dest": BOB_ADDRESS[:-1] + "4"}, says("dest", "checksum", "again")),
        (*PAY, TRANSFER | {"dest": '{"Moon": 5}'}, says("dest", "Moon", "MultiAddress", ACCOUNT)),
        (*PAY, {"value": "1"}, says("dest is missing", "MultiAddress", ACCOUNT)),
        (*PAY, TRANSFER | {"memo": "x"}, says("no parameter 'memo'", "dest, value")),
        (*PAY, TRANSFER | {"VALUE": "2"}, says("value", "twice")),
        (
            *("balances", "transfer_all"),
            {"dest": BOB_ADDRESS, "keep_alive": "yes"},
            says("keep_alive", "yes", "bool", "true or false"),
        ),
        ("system", "remark", {"remark": "0x123"}, says("remark", "0x123", "Vec<u8>", "hex")),
        ("utility", "batch_all", {"calls": '["0xzz"]'}, says("calls", "0xzz", "RuntimeCall")),
        (
            *("utility", "batch_all"),
            {"calls": '[{"System": {"remark": {"remarks": "x"}}}]'},
            says("calls", "remarks", "does not fit"),
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_type_and_an_example(
    pallet: str, method: str, params: dict[str, object], sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        build_call(pallet, method, params, bundled("polkadot"))


def test_deep_json_is_refused_and_breaks_nothing() -> None:
    nested: Any = {"System": {"remark": {"remark": "x"}}}
    for _ in range(40):
        nested = {"Utility": {"batch": {"calls": [nested]}}}

    with pytest.raises(InvalidRequest) as deep:
        build("polkadot", "utility", "batch", calls=json.dumps([nested]))
    with pytest.raises(InvalidRequest) as deeper:
        build("polkadot", "utility", "batch", calls="[" * 100_000)

    assert str(deep.value) == says("Utility.batch", "64")
    assert "(it is not JSON)" in str(deeper.value)


def test_a_text_longer_than_any_call_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        build("polkadot", "system", "remark", remark="x" * (4 * 1024 * 1024 + 1))

    assert str(refused.value) == says("System.remark", "4194305")


XTOKENS = {
    "currency_id": "5",
    "amount": "1",
    "dest": '{"V4": {"parents": 1, "interior": "Here"}}',
    "dest_weight_limit": "Unlimited",
}


def test_xtokens_is_never_built_not_even_inside_a_batch() -> None:
    inner = {
        key: json.loads(value) if value[0] in "{0123456789" else value
        for key, value in XTOKENS.items()
    }
    with pytest.raises(InvalidRequest) as plain:
        build("hydraDx", "xtokens", "transfer", **XTOKENS)
    with pytest.raises(InvalidRequest) as batched:
        build(
            "hydraDx", "utility", "batch_all", calls=json.dumps([{"XTokens": {"transfer": inner}}])
        )
    call = bundled("hydraDx").encode_call(Call(pallet="XTokens", method="transfer", args=inner))
    with pytest.raises(InvalidRequest) as hidden:
        build("hydraDx", "utility", "batch_all", calls=json.dumps(["0x" + call.hex()]))

    why = "XTokens is refused, because it sends DOT over the wrong reserve: use an xTransfer"
    assert str(plain.value) == f"XTokens.transfer: {why}"
    assert str(batched.value) == str(hidden.value) == f"Utility.batch_all: {why}"


def test_xtokens_is_not_built_in_the_bytes_that_a_precompile_dispatches() -> None:
    inner = {
        key: json.loads(value) if value[0] in "{0123456789" else value
        for key, value in XTOKENS.items()
    }
    call = bundled("hydraDx").encode_call(Call(pallet="XTokens", method="transfer", args=inner))
    given = {
        "source": "0x" + bytes(20).hex(),
        "target": "0x" + DISPATCH_PRECOMPILE.hex(),
        "input": "0x" + call.hex(),
        "value": "0",
        "gas_limit": "1000000",
        "max_fee_per_gas": "1",
    }
    with pytest.raises(InvalidRequest) as refused:
        build("hydraDx", "evm", "call", **given, access_list="[]", authorization_list="[]")

    why = "XTokens is refused, because it sends DOT over the wrong reserve: use an xTransfer"
    assert str(refused.value) == f"EVM.call: {why}"


def test_a_call_that_moves_assets_between_chains_is_built_with_a_warning() -> None:
    draft = build("polkadot", "XcmPallet", "force_default_xcm_version", maybe_xcm_version="5")

    assert draft.warnings == (says("XcmPallet", "xTransfer"),)


@given(
    params=st.dictionaries(
        st.sampled_from(["dest", "value", "calls", "remark", "x"]),
        st.one_of(st.text(max_size=30), st.integers(), st.none()),
    ),
    target=st.sampled_from(
        [("Balances", "transfer_keep_alive"), ("Utility", "batch_all"), ("System", "remark")]
    ),
)
def test_any_text_is_built_or_refused_never_a_bug(
    params: dict[str, object], target: tuple[str, str]
) -> None:
    try:
        draft = build_call(*target, params, bundled("polkadot"))
    except InvalidRequest:
        return
    assert draft.call.method == target[1]


# Remarks


def test_a_remark_leaves_an_event_unless_it_is_plain() -> None:
    assert build_remark("Grüße") == Draft(
        call=Call(pallet="System", method="remark_with_event", args={"remark": "Grüße".encode()})
    )
    assert build_remark(b"\xff", plain=True) == Draft(
        call=Call(pallet="System", method="remark", args={"remark": b"\xff"})
    )


def test_a_wide_number_of_the_evm_may_be_hex() -> None:
    table = bundled("hydraDx")
    type_id = find_type(table, "primitive_types::U256")
    reader = ValueReader(table, "key 1")

    assert [reader.read(type_id, text) for text in ("0x10", "0X0f", "16", 16)] == [16, 15, 16, 16]
    for text in ("0x", "0xg1", "-0x1", "0x" + "f" * 65):
        with pytest.raises(InvalidRequest, match="expected a whole number like 1000 or 0x3e8"):
            reader.read(type_id, text)


@pytest.mark.parametrize(
    ("limits", "slippage", "warnings"),
    [
        ({"amount_in": 10**10, "min_amount_out": 900}, 15_000, ()),
        ({"amount_in": 10**10, "min_amount_out": 900}, None, ()),
        ({"amount_in": 10**10, "min_amount_out": 0}, None, (says("min_amount_out", "any price"),)),
        (
            {"amount_out": 10**10, "max_amount_in": 2**128 - 1},
            5_000,
            (says("max_amount_in", "any price"),),
        ),
        ({"amount_in": 10**10, "min_amount_out": 900}, 4_999, (says("0.4999 %", "never trade"),)),
    ],
)
def test_a_dca_order_without_a_limit_or_with_a_tiny_slippage_is_warned_of(
    limits: dict[str, int], slippage: int | None, warnings: tuple[object, ...]
) -> None:
    kind = "Sell" if "amount_in" in limits else "Buy"
    schedule = {
        "owner": BOB_ADDRESS,
        "period": 600,
        "total_amount": 10**12,
        "slippage": slippage,
        "order": {kind: {"asset_in": 5, "asset_out": 0, "route": [], **limits}},
    }

    draft = build("hydraDx", "DCA", "schedule", schedule=json.dumps(schedule))

    assert draft.warnings == warnings
