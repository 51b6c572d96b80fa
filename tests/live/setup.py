"""Dev accounts that sign, and what a rig lacks before money can move on it.

The keys are the development accounts of every test chain: no other key belongs in here.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from substrateinterface import Keypair

from scenarioctl.application import Application
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.registry import Chain
from scenarioctl.model.calls import Call
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.extrinsic import length_size
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from scenarioctl.transactions.simulation.ledger import read_balance_changes
from tests.live.recorder import clock, pause
from tests.runner import finish

#: Seconds that a message may take to be executed on the next chain.
PATIENCE = 60.0
#: What Hydration's oracle would say; on a rig that storage lives only within a block.
PRICES = [[[5], "20000000000000"], [[10], "10000000000"]]
#: Of a new pool: the native asset, and the other one.
POOL_LIQUIDITY = (500 * 10**12, 10_000 * 10**6)
_NATIVE = {"parents": 1, "interior": "Here"}


def sign(app: Application, chain: Chain, call_data: bytes, key: Keypair) -> bytes:
    """Return the signed extrinsic of *call_data*, good for the chain as it is now."""
    client = app.client(chain)
    table = finish(client.table())
    # Of the state: `system_accountNextIndex` lags after a block on the rig.
    nonce = finish(client.storage("System", "Account", key.public_key))["nonce"]
    genesis = bytes.fromhex(chain.genesis[2:])
    options = SigningOptions(nonce=nonce, genesis_hash=genesis, block_hash=genesis)
    payload = signing_payload(table, call_data, options)
    return encode_signed_extrinsic(
        table,
        call_data,
        payload.extra,
        account=key.public_key,
        scheme="sr25519",
        signature=key.sign(payload.bytes_to_sign),
    )


def send(app: Application, chain: Chain, call: Call | bytes, key: Keypair) -> list[Event]:
    """Sign and submit a call, and return the events of the block that it is in; RuntimeError if it
    failed there."""
    client = app.client(chain)
    data = call if isinstance(call, bytes) else finish(client.table()).encode_call(call)
    before, _ = finish(client.head())
    finish(client.submit("author_submitExtrinsic", "0x" + sign(app, chain, data, key).hex()))
    for events in blocks_after(app, chain, before):
        for event in events:
            if str(event) == "System.ExtrinsicFailed":
                raise RuntimeError(f"{chain.name} executed the call, and it failed: {event.fields}")
        if any(str(event) == "System.ExtrinsicSuccess" and _is_paid(events) for event in events):
            return events
    raise RuntimeError(f"{chain.name} took no block with the transaction in {PATIENCE} seconds")


def blocks_after(app: Application, chain: Chain, number: int) -> Iterator[list[Event]]:
    """Give the events of each block after *number*, as blocks come."""
    client = app.client(chain)
    deadline = clock() + PATIENCE
    while clock() < deadline:
        head, _ = finish(client.head())
        while number < head:
            number += 1
            block = finish(client.call("chain_getBlockHash", number))
            yield [
                _event(row["event"]) for row in finish(client.storage("System", "Events", at=block))
            ]
        pause(0.1)


def credit_of(
    app: Application, chain: Chain, events: Sequence[Event], asset: Asset, account: bytes
) -> int:
    """Return how much of *asset* the *events* of *chain* leave *account*, raw."""
    changes = read_balance_changes(events, chain, app.assets)
    return sum(
        each.value for each in changes if (each.account, each.asset.id) == (account, asset.id)
    )


def act_as_root(app: Application, chain: Chain, *calls: Call) -> list[Event]:
    """Have the scheduler make small *calls* as root, and return the events of the block in which it
    did."""
    client = app.client(chain)
    table = finish(client.table())
    number, _ = finish(client.head())
    key = storage_key(table, "Scheduler", "Agenda", [number + 1])
    agenda = finish(client.storage("Scheduler", "Agenda", number + 1))
    for call in calls:
        task = {
            "maybe_id": None,
            "priority": 0,
            "maybe_periodic": None,
            "origin": {"system": "Root"},
        }
        agenda = [*agenda, {**task, "call": {"Inline": table.encode_call(call)}}]
    value = "0x" + table.encode(key.entry.value_type, agenda).hex()
    finish(client.submit("dev_setStorage", [[key.hex, value]]))
    finish(client.submit("dev_newBlock"))
    events = next(blocks_after(app, chain, number))
    done = [event.fields["result"] for event in events if str(event) == "Scheduler.Dispatched"]
    if done != [{"Ok": None}] * len(calls):
        raise RuntimeError(f"{chain.name} did not do what root asked for: {done}")
    return events


def price_fees(app: Application, dex: Chain) -> None:
    """Give the exchange the prices by which it takes fees in other assets, as its oracle would."""
    storage = {"MultiTransactionPayment": {"AcceptedCurrencyPrice": PRICES}}
    wait_for_quiet(app, dex)
    finish(app.client(dex).call("dev_setStorage", storage))


def has_prices(app: Application, dex: Chain) -> bool:
    """Tell whether the prices are still there: a late block takes them away."""
    return (
        finish(app.client(dex).storage("MultiTransactionPayment", "AcceptedCurrencyPrice", 10))
        is not None
    )


def wait_for_quiet(app: Application, chain: Chain) -> None:
    """Wait until no block has come for a while: the last message may still be on its way."""
    head, since = finish(app.client(chain).head())[0], clock()
    deadline = since + PATIENCE
    while clock() - since < 1.5 and clock() < deadline:
        pause(0.2)
        now = finish(app.client(chain).head())[0]
        if now != head:
            head, since = now, clock()


def tell_relay(app: Application, relay: Chain, chain: Chain) -> None:
    """Let the relay chain have the newest block of a parachain, as it would; on a rig it has
    none."""
    header = finish(app.client(chain).call("chain_getHeader"))
    logs = [bytes.fromhex(log[2:]) for log in header["digest"]["logs"]]
    encoded = b"".join(
        (
            bytes.fromhex(header["parentHash"][2:]),
            encode_compact(int(header["number"], 16)),
            bytes.fromhex(header["stateRoot"][2:]),
            bytes.fromhex(header["extrinsicsRoot"][2:]),
            encode_compact(len(logs)),
            *logs,
        )
    )
    client = app.client(relay)
    table = finish(client.table())
    key = storage_key(table, "Paras", "Heads", [chain.para_id])
    value = "0x" + table.encode(key.entry.value_type, encoded).hex()
    finish(client.call("dev_setStorage", [[key.hex, value]]))


def fund_teleports(app: Application, relay: Chain, hub: Chain, key: Keypair) -> None:
    """Teleport 1000 of the relay's asset down, without which nothing can be teleported up."""
    from scenarioctl.transactions.transfer.build import build_transfer
    from scenarioctl.transactions.transfer.request import Transfer

    native = app.assets.native(relay)
    transfer = Transfer(
        source=relay,
        destination=hub,
        asset=native,
        amount=1000 * 10**relay.decimals,
        beneficiary=key.public_key,
    )
    table = finish(app.client(relay).table())
    draft = build_transfer(transfer, table, assets=app.assets)
    before, _ = finish(app.client(hub).head())
    send(app, relay, draft.call, key)
    for events in blocks_after(app, hub, before):
        if any(str(event) == "MessageQueue.Processed" for event in events):
            return
    raise RuntimeError(f"the teleport did not reach {hub.name}")


def create_fee_pool(app: Application, hub: Chain, number: int, key: Keypair) -> None:
    """Make a pool of the native asset and a trust-backed one, if there is none: the Asset Hub takes
    fees in it from then on."""
    asset = {
        "parents": 0,
        "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": number}]},
    }
    if finish(app.client(hub).storage("AssetConversion", "Pools", [_NATIVE, asset])) is not None:
        return
    send(
        app,
        hub,
        Call(
            pallet="AssetConversion",
            method="create_pool",
            args={"asset1": _NATIVE, "asset2": asset},
        ),
        key,
    )
    native_amount, amount = POOL_LIQUIDITY
    arguments = {
        "asset1": _NATIVE,
        "asset2": asset,
        "amount1_desired": native_amount,
        "amount2_desired": amount,
        "amount1_min": 1,
        "amount2_min": 1,
        "mint_to": key.public_key,
    }
    send(app, hub, Call(pallet="AssetConversion", method="add_liquidity", args=arguments), key)


def _is_paid(events: list[Event]) -> bool:
    return any(str(event) == "TransactionPayment.TransactionFeePaid" for event in events)


def _event(value: Any) -> Event:
    pallet, inner = next(iter(value.items()))
    if isinstance(inner, dict):
        name, fields = next(iter(inner.items()))
        return Event(pallet=pallet, name=name, fields=fields)
    return Event(pallet=pallet, name=str(inner))


def call_in(tx: str) -> bytes:
    """Return the call data in *tx*, a bare extrinsic in hex: behind its length and its version."""
    data = bytes.fromhex(tx[2:])
    return data[length_size(data) + 1 :]
