"""A fee that is paid in another asset than the native one, as a transaction of an Asset Hub names
it."""

import json
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.locations import read_location
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.model.jobs import MempoolDraft, MempoolEntry
from scenarioctl.operations.sent_matches import call_of_draft
from scenarioctl.transactions.signing.fee_asset import (
    asset_location,
    set_currency_before,
)
from scenarioctl.transactions.submission.outcomes import walk_hashes
from tests.conftest import Run
from tests.messages import raises, says
from tests.network import FakeNetwork, made_by_root
from tests.refusals import refused
from tests.runtimes import ASSETS, REGISTRY, bundled, unhex
from tests.signing import dev_key
from tests.test_balances import asset_details
from tests.test_check import ALICE_KEY, FEE, account, call_effects, info

ALICE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
HELLO = Call(pallet="System", method="remark", args={"remark": b"hello"})
REMARK = "0x00001468656c6c6f"
DEX_REMARK = "0x" + bundled("hydraDx").encode_call(HELLO).hex()
USDT = "0/PalletInstance(50)/GeneralIndex(1984)"
LINE = (REMARK, "--sender", ALICE, "--nonce", "5", "--era", "immortal")


def payload(scenarioctl: Run, *line: str) -> dict[str, Any]:
    ended = scenarioctl("--offline", "--json", "tx", "payload", *LINE, "--chain", "assetHub", *line)
    answer: dict[str, Any] = json.loads(ended.out)
    return answer


@pytest.mark.parametrize("asset", ["1984", "01984"])
def test_a_payload_names_the_asset_that_pays(scenarioctl: Run, asset: str) -> None:
    answer = payload(scenarioctl, "--fee-asset", asset)

    # The tip, Some, and the location: no parents, two junctions.
    assert answer["parts"]["extra"]["ChargeAssetTxPayment"] == "0x00" + "01" + "000204320" + "5011f"
    assert answer["signer_payload"]["assetId"] == "0x010002043205011f"
    assert answer["says"].endswith(", with its fee paid in USDt")
    assert answer["fee_asset"] == {"asset": "1984", "symbol": "USDt"}


@pytest.mark.parametrize(
    "line", [(), ("--fee-asset", "DOT"), ("--fee-asset", "0"), ("--fee-asset", "native")]
)
def test_the_native_asset_is_named_by_nothing(scenarioctl: Run, line: tuple[str, ...]) -> None:
    answer = payload(scenarioctl, *line)

    assert answer["parts"]["extra"]["ChargeAssetTxPayment"] == "0x0000"
    assert "fee" not in answer["says"]
    assert answer["signer_payload"]["assetId"] is None


def test_a_signed_transaction_keeps_the_asset(scenarioctl: Run, tmp_path: Path) -> None:
    answer = payload(scenarioctl, "--fee-asset", "1984")
    file = tmp_path / "payload.json"
    file.write_text(json.dumps(answer))
    made = "0x" + dev_key().sign(unhex(answer["bytes_to_sign"])).hex()

    line = ("--offline", "tx", "assemble", "--payload", str(file), "--signature", made)
    ended = scenarioctl(*line)

    decoded = json.loads(
        scenarioctl(
            "--offline", "--json", "tx", "decode", ended.out.strip(), "--chain", "assetHub"
        ).out
    )
    assert decoded["signature"]["fee_asset"] == {
        "asset": "1984",
        "symbol": "USDt",
        "location": USDT,
    }
    assert decoded["says"].endswith(", with its fee paid in USDt")


def dex_payload(run: Run, *line: str) -> dict[str, Any]:
    ended = run(
        *line,
        "--json",
        "tx",
        "payload",
        DEX_REMARK,
        *LINE[1:],
        "--chain",
        "hydraDx",
        "--fee-asset",
        "5",
    )
    answer: dict[str, Any] = json.loads(ended.out)
    return answer


def test_offline_the_fee_currency_is_set_in_a_batch(scenarioctl: Run) -> None:
    table = bundled("hydraDx")

    answer = dex_payload(scenarioctl, "--offline")

    call = table.decode_call(unhex(answer["signer_payload"]["method"]))
    assert call == Call(
        pallet="Utility",
        method="batch_all",
        args={
            "calls": [
                {"MultiTransactionPayment": {"set_currency": {"currency": 5}}},
                {"System": {"remark": {"remark": b"hello"}}},
            ]
        },
    )
    assert answer["fee_asset"] == {"asset": "5", "symbol": "DOT"}
    assert answer["warnings"][0] == says("Hydration", "DOT")


def test_offline_it_is_unknown_what_an_account_with_a_fee_currency_pays(scenarioctl: Run) -> None:
    ended = scenarioctl(
        "--offline", "--json", "tx", "payload", DEX_REMARK, *LINE[1:], "--chain", "hydraDx"
    )

    assert json.loads(ended.out)["fee_asset"] is None


@pytest.mark.parametrize(("current", "batched"), [(None, True), (10, True), (5, False)])
def test_a_currency_that_the_account_has_is_not_set_again(
    network: FakeNetwork, scenarioctl: Run, current: int | None, batched: bool
) -> None:
    dex = network.chains["hydraDx"]
    dex.store("System", "Account", ALICE_KEY, value=account(10**16))
    if current is not None:
        dex.store("MultiTransactionPayment", "AccountCurrencyMap", ALICE_KEY, value=current)

    answer = dex_payload(scenarioctl, "--config", str(network.config))

    assert answer["fee_asset"] == {"asset": "5", "symbol": "DOT"}
    assert (answer["signer_payload"]["method"] != DEX_REMARK) == batched


def test_a_currency_is_not_set_before_a_batch() -> None:
    table = bundled("hydraDx")
    dot = Assets(Registry()).find(Registry().find("hydraDx"), "5")
    batch = set_currency_before(table, HELLO, dot)
    longer = Call(pallet="Utility", method="batch_all", args={"calls": [*batch.args["calls"]] * 2})

    with raises(InvalidRequest, says("fee_asset", "Utility.batch_all", "set_currency 5")):
        set_currency_before(table, longer, dot)


@pytest.mark.parametrize("asset_id", ["0x0100020432", "0x010002043205011f00"])
def test_an_asset_id_that_is_none_is_refused(
    scenarioctl: Run, tmp_path: Path, asset_id: Any
) -> None:
    answer = payload(scenarioctl, "--fee-asset", "1984")
    answer["signer_payload"]["assetId"] = asset_id
    file = tmp_path / "payload.json"
    file.write_text(json.dumps(answer))

    ended = scenarioctl(
        "--offline",
        "--json",
        "tx",
        "assemble",
        "--payload",
        str(file),
        "--signature",
        "0x" + "01" * 64,
    )

    assert refused(json.loads(ended.out)) == {
        "error": says("payload.assetId", str(asset_id)),
        "code": "invalid_request",
    }


def test_a_draft_is_known_behind_the_currency_that_pays() -> None:
    table, dex = bundled("hydraDx"), Registry().find("hydraDx")
    draft = MempoolDraft(chain="hydraDx", amount="0", tx_type="Remark", date=0, tx=DEX_REMARK)
    entry = MempoolEntry(seq=1, job="abc", draft=draft)
    other = Call(pallet="System", method="remark", args={"remark": b"another"})
    dot = Assets(Registry()).find(dex, "5")

    def hashes(call: Call) -> set[str]:
        behind = set_currency_before(table, call, dot)
        return {row.hash for row, _ in walk_hashes(table, behind, None)}

    assert call_of_draft(entry).call in hashes(HELLO) - hashes(other)


# A check of it

FEE_IN_USDT, LEAST = 8240, 70_000


def pay_fees_in_usdt(network: FakeNetwork) -> None:
    """Let a call of Alice, who has no native asset, pass on the Asset Hub: its fee of 0.016 DOT is
    0.00824 USDt in the pool."""
    hub = network.chains["assetHub"]
    hub.api.update(
        DryRunApi_dry_run_call=call_effects(),
        TransactionPaymentApi_query_info=info(FEE),
        AssetConversionApi_quote_price_tokens_for_exact_tokens=FEE_IN_USDT,
    )
    hub.store("System", "Account", ALICE_KEY, value=account(0))
    hub.store("Assets", "Asset", 1984, value=asset_details(LEAST))
    holds(network, 10_000_000)


@pytest.fixture
def network(network: FakeNetwork) -> FakeNetwork:
    pay_fees_in_usdt(network)
    return network


def holds(network: FakeNetwork, balance: int) -> None:
    row = {"balance": balance, "status": "Liquid", "reason": "Sufficient", "extra": None}
    network.chains["assetHub"].store("Assets", "Account", 1984, ALICE_KEY, value=row)


def check(network: FakeNetwork, scenarioctl: Run, asset: str = "1984") -> dict[str, Any]:
    words = ("tx", "check", REMARK, "--chain", "assetHub", "--sender", ALICE, "--fee-asset", asset)
    ended = scenarioctl("--json", "--config", str(network.config), *words)
    answer: dict[str, Any] = json.loads(ended.out)
    return answer


def test_a_check_takes_the_fee_in_the_asset(network: FakeNetwork, scenarioctl: Run) -> None:
    hub = network.chains["assetHub"]

    answer = check(network, scenarioctl)

    assert answer["verdict"] == "ok"
    assert [(step["what"], step["human"]) for step in answer["steps"]] == [
        ("transaction fee", "0.00824 USDt")
    ]
    asked = dict(hub.asked)
    quote = (
        hub.table.encode(
            hub.table.api_method("AssetConversionApi", "quote_price_tokens_for_exact_tokens")
            .inputs[0]
            .type_id,
            read_location(USDT),
        )
        + unhex("0x0100")
        + FEE.to_bytes(16, "little")
        + b"\1"
    )
    assert asked["AssetConversionApi_quote_price_tokens_for_exact_tokens"] == quote
    # The extension of the transaction whose fee is asked for names the asset: no tip, then its
    # location.
    assert unhex("0x00" + "010002043205011f") in asked["TransactionPaymentApi_query_info"]


def test_the_fee_is_exchanged_before_the_call_is_tried(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    hub = network.chains["assetHub"]

    check(network, scenarioctl)

    tried = next(
        data for name, data in hub.asked if name == "DryRunApi_dry_run_call" and made_by_root(data)
    )
    # Behind the origin, and before the version of XCM.
    opened, exchanged, called = hub.table.decode_call(tried[2:-4]).args["calls"]
    collector = opened["Balances"]["force_set_balance"]["who"]["Id"]
    signed = {"system": {"Signed": ALICE_KEY}}
    assert exchanged == {
        "Utility": {
            "dispatch_as": {
                "as_origin": signed,
                "call": {
                    "AssetConversion": {
                        "swap_tokens_for_exact_tokens": {
                            "path": [read_location(USDT), read_location("1/Here")],
                            "amount_out": FEE,
                            "amount_in_max": FEE_IN_USDT,
                            "send_to": collector,
                            "keep_alive": True,
                        }
                    }
                },
            }
        }
    }
    assert called == {
        "Utility": {
            "dispatch_as": {
                "as_origin": signed,
                "call": {"System": {"remark": {"remark": b"hello"}}},
            }
        }
    }


def test_without_a_pool_no_fee_is_taken_in_the_asset(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    network.chains["assetHub"].api["AssetConversionApi_quote_price_tokens_for_exact_tokens"] = None

    answer = check(network, scenarioctl)

    assert (answer["verdict"], answer["reasons"]) == ("refused", [says("1984", "pool")])


@pytest.mark.parametrize(
    "balance", [FEE_IN_USDT - 1, LEAST + FEE_IN_USDT - 1], ids=["too little", "what must stay"]
)
def test_too_little_of_the_asset_is_refused(
    network: FakeNetwork, scenarioctl: Run, balance: int
) -> None:
    holds(network, balance)

    answer = check(network, scenarioctl)

    assert (answer["verdict"], answer["reasons"]) == ("refused", [says("USDt")])


def test_a_pool_that_does_not_answer_proves_nothing(network: FakeNetwork, scenarioctl: Run) -> None:
    network.chains["assetHub"].api.pop("AssetConversionApi_quote_price_tokens_for_exact_tokens")

    assert check(network, scenarioctl)["verdict"] == "unknown"


@pytest.mark.parametrize(
    ("chain", "known", "words"),
    [
        ("polkadot", True, ("fee_asset", "polkadot", "omit it")),
        ("assetHub", False, ("fee_asset", "no known location")),
    ],
)  # fmt: skip
def test_what_no_transaction_can_name_is_refused(
    chain: str, known: bool, words: tuple[str, ...]
) -> None:
    place = REGISTRY.find(chain)
    asset = ASSETS.find(place, "DOT")

    with pytest.raises(InvalidRequest) as refused:
        asset_location(bundled(chain), place, asset if known else asset._replace(location=""))

    assert str(refused.value) == says(*words)
