"""A call is said in one sentence, and said no further than it is understood."""

from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from scenarioctl.transactions.extrinsic import Extrinsic
from scenarioctl.transactions.wording.calls import tell_call, tell_extrinsic
from tests.conftest import BOB, BOB_HEX
from tests.messages import Says, says

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)


def bundled_table(chain: Chain) -> RuntimeTable | None:
    return load_bundled(chain.name)


def say(chain: str, call_data: str) -> str:
    table = load_bundled(chain)
    assert table is not None
    return tell_call(
        table.decode_call(bytes.fromhex(call_data)), REGISTRY.find(chain), ASSETS, bundled_table
    ).sentence


ACCOUNT = BOB_HEX[2:]


@pytest.mark.parametrize(
    ("chain", "call_data", "sentence"),
    [
        (
            "polkadot",
            f"050300{ACCOUNT}07341cdcdf02",
            f"transfers 1.23456789 DOT to {BOB} on Polkadot",
        ),
        (
            "assetHub",
            f"3209011f00{ACCOUNT}02093d00",
            f"transfers 1 USDt to {BOB} on Polkadot Asset Hub",
        ),
        (
            "polkadot",
            f"630905000100a10f0500010100{ACCOUNT}050400000007341cdcdf020000000000",
            says("1.23456789", "DOT", "from Polkadot to Polkadot Asset Hub", BOB),
        ),
        (
            "assetHub",
            f"1f090501000500010100{ACCOUNT}050401000007341cdcdf020000000000",
            f"teleports 1.23456789 DOT from Polkadot Asset Hub to Polkadot for {BOB}",
        ),
        (
            "assetHub",
            f"1f0d05010100c91f050401000007341cdcdf02010501000105040d01020400010100{ACCOUNT}00",
            says("1.23456789", "DOT", "from Polkadot Asset Hub to Hydration", BOB),
        ),
        (
            "polkadot",
            (
                "630d05000100a10f050400000007341cdcdf02000500000005040e010204010100c91f0813010"
                f"000071a0eee6f01000d01020400010100{ACCOUNT}00"
            ),
            says("1.23456789", "DOT", "from Polkadot to Polkadot Asset Hub", "Hydration", BOB),
        ),
        (
            "hydraDx",
            "3b05050000000000000000e40b540200000000000000000000000080c6a47e8d03000000000000000000",
            says("DOT", "1000", "HDX", "Hydration"),
        ),
        (
            "hydraDx",
            (
                "4300050000000a00000000e40b5402000000000000000000000060f59000000000000000000000"
                "00000000"
            ),
            says("1", "DOT", "9.5", "USDT", "Hydration"),
        ),
        ("polkadot", "00071468656c6c6f", says("writes", "hello")),
        (
            "polkadot",
            f"1a020800001468656c6c6f050300{ACCOUNT}07341cdcdf02",
            says("writes", "hello", "1.23456789", "DOT", BOB),
        ),
    ],
)
def test_what_a_call_does_is_said_in_one_sentence(
    chain: str, call_data: str, sentence: Says
) -> None:
    assert say(chain, call_data) == sentence


def with_changed(chain: str, call_data: str, **changes: Any) -> str:
    table = load_bundled(chain)
    assert table is not None
    call = table.decode_call(bytes.fromhex(call_data))
    changed = Call(pallet=call.pallet, method=call.method, args={**call.args, **changes})
    return tell_call(changed, REGISTRY.find(chain), ASSETS, bundled_table).sentence


TYPE_AND_THEN = f"1f0d05010100c91f050401000007341cdcdf02010501000105040d01020400010100{ACCOUNT}00"


_SENT = "sends 1.23456789 DOT from Polkadot Asset Hub to Hydration (reserve on Polkadot Asset Hub"
_DEPOSITS = f"deposits everything that is left, of at most 1 asset for {BOB}"


def _deposit(**changes: Any) -> dict[str, Any]:
    junction = {"AccountId32": {"network": None, "id": bytes.fromhex(ACCOUNT)}}
    return {
        "DepositAsset": {
            "assets": {"Wild": {"AllCounted": 1}},
            "beneficiary": {"parents": 0, "interior": {"X1": [junction]}},
            **changes,
        }
    }


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"dest": {"V5": {"parents": 1, "interior": {"X1": [{"Parachain": 4000}]}}}},
            says("1.23456789", "DOT", "Polkadot Asset Hub", "1/Parachain(4000", BOB),
        ),
        ({"fees_transfer_type": "DestinationReserve"}, says(_SENT, "DOT", "Hydration", _DEPOSITS)),
        ({"custom_xcm_on_dest": {"V5": [{"ClearOrigin": None}]}}, says(_SENT, "ClearOrigin")),
        (
            {"remote_fees_id": {"V5": {"parents": 0, "interior": "Here"}}},
            says(_SENT, "0/Here", "Polkadot Asset Hub", _DEPOSITS),
        ),
        (
            {"assets": None},
            says("PolkadotXcm.transfer_assets_using_type_and_then", "Polkadot Asset Hub"),
        ),
    ],
)
def test_an_unusual_transfer_is_told_with_all_that_its_program_does(
    changes: dict[str, Any], sentence: Says
) -> None:
    assert with_changed("assetHub", TYPE_AND_THEN, **changes) == sentence


def said(chain: str, pallet: str, method: str, **args: Any) -> str:
    """Return what is said of a call that the chain's runtime knows, read back from its bytes."""
    table = load_bundled(chain)
    assert table is not None
    call = table.decode_call(table.encode_call(Call(pallet=pallet, method=method, args=args)))
    return tell_call(call, REGISTRY.find(chain), ASSETS, bundled_table).sentence


RAW_BOB = bytes.fromhex(ACCOUNT)
PAY: dict[str, Any] = {
    "Balances": {"transfer_keep_alive": {"dest": {"Id": RAW_BOB}, "value": 10**10}}
}
NOTE: dict[str, Any] = {"System": {"remark": {"remark": b"hi"}}}
PAYS, NOTES = f"transfers 1 DOT to {BOB} on Polkadot", "writes 'hi' to the history of Polkadot"
WEIGHT = {"ref_time": 1, "proof_size": 1}


@pytest.mark.parametrize(
    ("pallet", "method", "args", "sentence"),
    [
        (
            "Utility",
            "batch",
            {"calls": [NOTE, PAY]},
            f"[{PAYS}; {NOTES}], and nothing after the first that fails",
        ),
        ("Utility", "batch_all", {"calls": []}, says("nothing", "empty batch")),
        ("Utility", "batch_all", {"calls": [NOTE] * 100}, "writes 100 remarks"),
        ("Utility", "if_else", {"main": NOTE, "fallback": PAY}, says(NOTES, PAYS)),
        (
            "Utility",
            "dispatch_as",
            {"as_origin": {"system": {"Signed": RAW_BOB}}, "call": PAY},
            f"as {BOB}: [{PAYS}]",
        ),
        (
            "Utility",
            "dispatch_as",
            {"as_origin": {"system": "None"}, "call": PAY},
            says("system.None", PAYS),
        ),
        (
            "Proxy",
            "proxy",
            {"real": {"Id": RAW_BOB}, "force_proxy_type": None, "call": PAY},
            f"as {BOB}, through a proxy: [{PAYS}]",
        ),
        (
            "Multisig",
            "as_multi",
            {
                "threshold": 2,
                "other_signatories": [RAW_BOB, b"\1" * 32],
                "maybe_timepoint": None,
                "call": PAY,
                "max_weight": WEIGHT,
            },
            says("as", "3", "2", PAYS),
        ),
        (
            "Scheduler",
            "schedule",
            {"when": 500, "maybe_periodic": None, "priority": 0, "call": PAY},
            says("500", PAYS),
        ),
        (
            "Scheduler",
            "schedule_named_after",
            {"id": b"\0" * 32, "after": 5, "maybe_periodic": (10, 3), "priority": 0, "call": PAY},
            says("5", "10", "3", PAYS),
        ),
        (
            "Utility",
            "batch",
            {"calls": [{"Utility": {"batch_all": {"calls": [PAY, NOTE]}}}, NOTE]},
            f"[[{PAYS}; then {NOTES}]; then {NOTES}], and nothing after the first that fails",
        ),
    ],
)
def test_a_call_that_holds_calls_tells_them(
    pallet: str, method: str, args: dict[str, Any], sentence: Says
) -> None:
    assert said("polkadot", pallet, method, **args) == sentence


DOT_5 = {"id": {"parents": 1, "interior": "Here"}, "fun": {"Fungible": 5 * 10**10}}
HERE_BOB = {"parents": 0, "interior": {"X1": [{"AccountId32": {"network": None, "id": RAW_BOB}}]}}
ETHER_BOB = {
    "parents": 0,
    "interior": {"X1": [{"AccountKey20": {"network": None, "key": b"\x11" * 20}}]},
}
HYDRATION = {"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}}


@pytest.mark.parametrize(
    ("instructions", "told"),
    [
        (
            [{"WithdrawAsset": [DOT_5]}, _deposit(assets={"Wild": "All"})],
            f"withdraws 5 DOT; then deposits everything that is left for {BOB}",
        ),
        (
            [{"TransferAsset": {"assets": [DOT_5], "beneficiary": ETHER_BOB}}],
            f"transfers 5 DOT to 0x{'11' * 20}",
        ),
        (
            [
                {
                    "DepositReserveAsset": {
                        "assets": {"Definite": [DOT_5]},
                        "dest": HYDRATION,
                        "xcm": [
                            {"BuyExecution": {"fees": DOT_5, "weight_limit": "Unlimited"}},
                            _deposit(
                                assets={"Wild": {"AllOf": {"id": DOT_5["id"], "fun": "Fungible"}}}
                            ),
                        ],
                    }
                }
            ],
            "sends 5 DOT to Hydration over the reserve here, which does [pays up to 5 DOT "
            "for execution; then deposits all "
            f"that is left of DOT for {BOB}]",
        ),
        (
            [{"SetAppendix": [_deposit(beneficiary=ETHER_BOB)]}, {"ClearError": None}, {"Trap": 5}],
            "at its end does [deposits everything that is left, of at most 1 asset for "
            f"0x{'11' * 20}]; "
            "then runs ClearError; then runs Trap",
        ),
        (
            [
                {
                    "Transact": {
                        "origin_kind": "SovereignAccount",
                        "fallback_max_weight": None,
                        "call": {"encoded": b"\0\1"},
                    }
                }
            ],
            (
                "runs on Polkadot Asset Hub as SovereignAccount (Transact) the call [2 bytes "
                "that are not a call of statemint 2003001]"
            ),
        ),
        (
            [
                {
                    "InitiateTransfer": {
                        "destination": HYDRATION,
                        "remote_fees": {"ReserveDeposit": {"Definite": [DOT_5]}},
                        "preserve_origin": False,
                        "assets": [{"Teleport": {"Wild": "All"}}],
                        "remote_xcm": [{"RefundSurplus": None}],
                    }
                }
            ],
            "sends everything that is left (Teleport) and 5 DOT for fees (ReserveDeposit) "
            "to Hydration, which does "
            "[runs RefundSurplus]",
        ),
        (
            [{"AliasOrigin": HERE_BOB}, {"WithdrawAsset": [DOT_5]}],
            f"acts from then on as {BOB}; then withdraws 5 DOT",
        ),
        (
            [{"SetHints": {"hints": [{"AssetClaimer": {"location": HERE_BOB}}]}}],
            f"lets {BOB} claim assets that are trapped",
        ),
        (
            [{"LockAsset": {"asset": DOT_5, "unlocker": HYDRATION}}],
            "runs LockAsset (not understood: its fields are not shown)",
        ),
    ],
)
def test_an_xcm_program_is_told_instruction_by_instruction(
    instructions: list[Any], told: str
) -> None:
    executed = said(
        "assetHub", "PolkadotXcm", "execute", message={"V5": instructions}, max_weight=WEIGHT
    )

    assert executed == says("XCM", "Polkadot Asset Hub", told)


@pytest.mark.parametrize(
    ("extension", "beside"),
    [
        ({"ChargeTransactionPayment": 10**10}, ", with a tip of 1 DOT"),
        (
            {
                "ChargeAssetTxPayment": {
                    "tip": 5,
                    "asset_id": {
                        "parents": 0,
                        "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": 1984}]},
                    },
                }
            },
            ", with a tip of 0.0000000005 DOT, with its fee paid in USDt",
        ),
        ({"ChargeAssetTxPayment": {"tip": 0, "asset_id": None}}, ""),
    ],
)
def test_a_tip_and_a_fee_in_another_asset_are_told(extension: dict[str, Any], beside: str) -> None:
    extrinsic = Extrinsic(
        version=4,
        call=Call(pallet="System", method="remark", args={"remark": b"hi"}),
        signer={"Id": RAW_BOB},
        signature={"Sr25519": bytes(64)},
        extensions=extension,
    )

    sentence = tell_extrinsic(extrinsic, REGISTRY.find("assetHub"), ASSETS, bundled_table).sentence

    assert sentence == says("writes", "hi", beside)


ORDER = {"asset_in": 5, "asset_out": 10, "route": []}
EACH: dict[str, Any] = {
    "owner": RAW_BOB,
    "period": 600,
    "total_amount": 10**11,
    "max_retries": None,
    "stability_threshold": None,
    "slippage": 15000,
}
HOP = {"pool": "Omnipool", "asset_in": 5, "asset_out": 10}
USDT = {"parents": 0, "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": 1984}]}}
PATH = {"path": [DOT_5["id"], USDT], "send_to": RAW_BOB, "keep_alive": True}
ITEM = {"collection": 1, "item": 2, "delegate": {"Id": RAW_BOB}}


@pytest.mark.parametrize(
    ("chain", "pallet", "method", "args", "sentence"),
    [
        (
            "hydraDx",
            *("DCA", "schedule"),
            {
                "schedule": {
                    **EACH,
                    "order": {"Sell": {**ORDER, "amount_in": 10**10, "min_amount_out": 5 * 10**6}},
                },
                "start_execution_block": None,
            },
            f"every 600 blocks, for {BOB}: sells 1 DOT for at least 5 USDT on Hydration, "
            "over the route that the chain "
            "chooses, within 1.5 % of the price of the block before, up to 10 DOT in all",
        ),
        (
            "hydraDx",
            *("DCA", "schedule"),
            {
                "schedule": {
                    **EACH,
                    "total_amount": 0,
                    "slippage": None,
                    "order": {
                        "Buy": {
                            **ORDER,
                            "route": [HOP],
                            "amount_out": 10**6,
                            "max_amount_in": 2**128 - 1,
                        }
                    },
                },
                "start_execution_block": None,
            },
            (
                f"every 600 blocks, for {BOB}: buys 1 USDT at any price on Hydration, through "
                "1 pool, until it is stopped"
            ),
        ),
        (
            "hydraDx",
            *("DCA", "terminate"),
            {"schedule_id": 8123, "next_execution_block": None},
            "stops the DCA order 8123, which frees what is left of its total, on Hydration",
        ),
        (
            "hydraDx",
            *("DCA", "unlock_reserves"),
            {"who": RAW_BOB, "asset_id": 5},
            (
                f"frees what DCA still keeps of DOT of {BOB}, once none of its orders runs, on "
                "Hydration"
            ),
        ),
        (
            "hydraDx",
            *("Router", "sell_all"),
            {**ORDER, "min_amount_out": 1, "route": [HOP, HOP]},
            "sells all DOT of the signer at any price on Hydration, through 2 pools",
        ),
        (
            "assetHub",
            *("AssetConversion", "swap_exact_tokens_for_tokens"),
            {**PATH, "amount_in": 10**10, "amount_out_min": 5 * 10**6},
            f"sells 1 DOT for at least 5 USDt on Polkadot Asset Hub, received by {BOB}",
        ),
        (
            "assetHub",
            *("AssetConversion", "swap_tokens_for_exact_tokens"),
            {**PATH, "amount_out": 5 * 10**6, "amount_in_max": 10**10},
            f"buys 5 USDt for at most 1 DOT on Polkadot Asset Hub, received by {BOB}",
        ),
        (
            "assetHub",
            *("Assets", "approve_transfer"),
            {"id": 1984, "delegate": {"Id": RAW_BOB}, "amount": 5 * 10**6},
            (
                f"lets {BOB} transfer up to 5 USDt of the signer to anyone from now on, beside "
                "what it already may, on Polkadot Asset Hub"
            ),
        ),
        (
            "assetHub",
            *("Nfts", "approve_transfer"),
            {**ITEM, "maybe_deadline": 50},
            f"lets {BOB} transfer item 2 of collection 1 for 50 blocks, on Polkadot Asset Hub",
        ),
    ],
)
def test_amounts_of_trades_and_terms_of_rights_are_told(
    chain: str, pallet: str, method: str, args: dict[str, Any], sentence: str
) -> None:
    assert said(chain, pallet, method, **args) == sentence
