"""Calls of contracts: what they do is told of an asset's own functions and of dispatched calls, and
else not known."""

from typing import Any

import pytest

from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import load_bundled
from scenarioctl.transactions.inner_calls import DISPATCH_PRECOMPILE
from scenarioctl.transactions.wording.calls import tell_call
from tests.conftest import BOB, BOB_HEX
from tests.messages import says
from tests.test_ordered_words import ASSETS, REGISTRY, table_of

CHAIN = REGISTRY.find("hydraDx")
EVE = bytes.fromhex("ee" * 20)
USDT = bytes(15) + b"\1" + (10).to_bytes(4)
SIGNATURE = {"odd_y_parity": False, "r": bytes(32), "s": bytes(32)}
WEIGHT = {"ref_time": 7, "proof_size": 8}


def evm(target: bytes, data: bytes, **changes: Any) -> Call:
    args: dict[str, Any] = {
        "source": b"\xaa" * 20,
        "target": target,
        "input": data,
        "value": 0,
        "gas_limit": 100000,
        "max_fee_per_gas": 1,
        "max_priority_fee_per_gas": None,
        "nonce": None,
        "access_list": [],
        "authorization_list": [],
        **changes,
    }
    return Call(pallet="EVM", method="call", args=args)


def erc20(selector: str, amount: int = 5_000_000) -> bytes:
    return bytes.fromhex(selector) + bytes(12) + EVE + amount.to_bytes(32)


def say(call: Call, chain: str = "hydraDx") -> str:
    table = load_bundled(chain)
    assert table is not None
    known = table.decode_call(table.encode_call(call))
    return tell_call(known, REGISTRY.find(chain), ASSETS, table_of).sentence


def unknown(call: Call, chain: str = "hydraDx") -> list[str]:
    return tell_call(call, REGISTRY.find(chain), ASSETS, table_of).unknown


def test_a_transfer_through_the_address_of_an_asset_is_a_transfer() -> None:
    call = evm(USDT, erc20("a9059cbb"))

    assert say(call) == says("transfers 5 USDT", f"0x{EVE.hex()}", "Hydration")
    assert unknown(call) == []


def test_an_approval_through_the_address_of_an_asset_is_a_right() -> None:
    reading = tell_call(evm(USDT, erc20("095ea7b3")), CHAIN, ASSETS, table_of)

    assert [right.sentence for right in reading.rights] == [
        says("lets", f"0x{EVE.hex()}", "5 USDT")
    ]


def test_a_dispatched_call_is_the_call_inside() -> None:
    table = load_bundled("hydraDx")
    assert table is not None
    transfer = {"dest": bytes.fromhex(BOB_HEX[2:]), "currency_id": 5, "amount": 5 * 10**10}
    data = table.encode_call(Call(pallet="Currencies", method="transfer", args=transfer))
    call = evm(DISPATCH_PRECOMPILE, data)

    assert say(call) == says("0x" + "aa" * 20, f"[transfers 5 DOT to {BOB} on Hydration]")
    assert unknown(call) == []


@pytest.mark.parametrize(
    ("target", "data", "changes"),
    [
        (EVE, b"\1\2\3\4", {}),
        (USDT, erc20("23b872dd"), {}),
        (USDT, erc20("a9059cbb") + b"\0", {}),
        (USDT, erc20("a9059cbb"), {"value": 1}),
        (USDT, erc20("a9059cbb"), {"access_list": [[EVE, []]]}),
        (USDT, erc20("a9059cbb")[:4] + b"\1" + erc20("a9059cbb")[5:], {}),
        (DISPATCH_PRECOMPILE, b"\xff\xff", {}),
    ],
    ids=["contract", "function", "length", "value", "access", "padding", "dispatch"],
)
def test_what_any_other_contract_does_is_not_known(
    target: bytes, data: bytes, changes: dict[str, Any]
) -> None:
    call = evm(target, data, **changes)

    assert unknown(call) == [f"what the contract at 0x{target.hex()} does is not known"]
    assert say(call) == says(f"the contract at 0x{target.hex()}", "100000 gas", "is not known")


def test_contracts_of_asset_hub_are_not_known_either() -> None:
    args = {
        "dest": EVE,
        "value": 5,
        "weight_limit": WEIGHT,
        "storage_deposit_limit": 0,
        "data": b"\1",
    }
    code = {
        "value": 0,
        "weight_limit": WEIGHT,
        "storage_deposit_limit": 0,
        "code": b"\1",
        "data": b"",
    }
    call = Call(pallet="Revive", method="call", args=args)
    create = Call(pallet="Revive", method="instantiate_with_code", args={**code, "salt": None})

    assert [say(call, "assetHub"), say(create, "assetHub")] == [
        says(f"0x{EVE.hex()}", "5 smallest units"),
        says("new contract", "no value"),
    ]
    assert unknown(call, "assetHub") == [f"what the contract at 0x{EVE.hex()} does is not known"]
    assert unknown(create, "assetHub") == ["what a new contract does is not known"]


def test_an_ethereum_transaction_names_its_contract() -> None:
    transaction = {
        "chain_id": 222222,
        "nonce": 0,
        "max_priority_fee_per_gas": 0,
        "max_fee_per_gas": 1,
        "gas_limit": 9,
        "action": {"Call": EVE},
        "value": 3,
        "input": b"",
        "access_list": [],
        "signature": SIGNATURE,
    }
    call = Call(
        pallet="Ethereum", method="transact", args={"transaction": {"EIP1559": transaction}}
    )

    assert tell_call(call, CHAIN, ASSETS, table_of).sentence == says(
        f"0x{EVE.hex()}", "3 smallest units", "9 gas"
    )
