"""A call tried as a block runs it, with its fee taken first; its weight, and what is refunded.

A dry run takes no fee, so a call that spends all that the sender has passes there and fails on
chain.  Therefore the dry run is made as root: it takes the fee by the runtime's own rules, and
dispatches the call as the sender after that.  A dry run tells no state either, and no event tells
of what many pallets hold: in the end root has accounts give all that they can spend, and then frees
what they have in reserve, which events tell.

A transaction that is too heavy for a block is never included, and costs nothing.  A fee is quoted
for more weight than the call uses if it names a weight or may do less: the chain refunds the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.assets import NATIVE_DEPOSIT, Asset
from scenarioctl.chains.locations import read_location, write_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.inner_calls import walk_calls
from scenarioctl.transactions.keyless_accounts import kind_of
from scenarioctl.transactions.signing.fee_asset import asset_location
from scenarioctl.transactions.simulation.runtime_api import (
    Encoded,
    Inconclusive,
    amount_of,
    query_runtime_api,
    read_constant,
    read_storage,
    read_table,
)
from scenarioctl.transactions.transfer.build import account_argument

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.checks import Amount
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.blocks import Event


_PALLET = "MultiTransactionPayment"
#: Calls of which the first inner call runs before all else.
_FIRST = (
    *(("Utility", method) for method in ("batch", "batch_all", "force_batch")),
    ("Dispatcher", "dispatch_with_extra_gas"),
)
#: A weight whose fee has digits enough to tell a price: a second of computing.
_SECOND = {"ref_time": 10**12, "proof_size": 0}
#: Prices are fixed-point numbers of 18 decimals.
_ONE = 10**18


@dataclass(frozen=True, kw_only=True)
class FeeCurrency:
    """What pays a sender's fees."""

    asset: Asset
    #: Number of the currency where the chain lets accounts choose one; None on every other chain.
    number: int | None = None
    #: Where the transaction names its fee asset: the locations of that asset and of the native one,
    #: between which a pool exchanges the fee.
    path: tuple[Any, ...] = ()


class FeeRefused(Inconclusive):
    """The chain takes no fee in the asset that was chosen."""


async def fee_currency(
    client: "Client", assets: "Assets", call: "Call", sender: bytes, fee_asset: Asset | None = None
) -> FeeCurrency:
    """Return what pays the fee of *call* by *sender*; Inconclusive if the chain does not tell.

    *fee_asset* is the asset that the transaction names; InvalidRequest if the chain's transactions
    name none.
    """
    native, table = assets.native(client.chain), await read_table(client)
    if fee_asset is not None and fee_asset.kind != "native":
        path = tuple(asset_location(table, client.chain, asset) for asset in (fee_asset, native))
        return FeeCurrency(asset=fee_asset, path=path)
    if _PALLET not in table.pallets:
        return FeeCurrency(asset=native)
    core = int(await read_constant(client, _PALLET, "NativeAssetId"))
    # A call that sets the currency is paid in it already.
    number = _currency_set_by(call, table)
    if number is None:
        number = await read_storage(client, _PALLET, "AccountCurrencyMap", sender)
    if number is None:
        number = (
            int(await read_constant(client, _PALLET, "EvmAssetId"))
            if kind_of(sender).pallet == "EVMAccounts"
            else core
        )
    asset = native if number == core else assets.listed(client.chain, number)
    return FeeCurrency(asset=asset or await _unlisted(client, number), number=number)


async def convert_fee(client: "Client", currency: FeeCurrency, fee: int) -> int:
    """Return how much of *currency* a *fee* in the native asset takes, raw; Inconclusive if the
    chain does not tell.

    The price is that of the pool which exchanges it; of the chain's oracle; or else the one that
    the chain falls back on.  FeeRefused if there is no such pool, or too little in it.
    """
    if currency.path:
        return await _quote_in_pool(client, currency, fee)
    if currency.number is None or currency.asset.kind == "native":
        return fee
    chain, number = client.chain.title, currency.number
    fallback = await read_storage(client, _PALLET, "AcceptedCurrencies", number)
    if fallback is None:
        raise Inconclusive(
            f"the sender pays fees on {chain} in {currency.asset.label}, which {chain} "
            "exchanges in a pool first: how much that takes is unknown"
        )
    quoted = await _oracle_quote(client, number)
    if quoted is None:
        return max(int(fallback) * fee // _ONE, 1)
    amount, base = quoted
    return max(-(-fee * amount // base), 1)


async def _quote_in_pool(client: "Client", currency: FeeCurrency, fee: int) -> int:
    # As the runtime charges it: exactly the fee is bought, the pool's own fee included.
    answer = await query_runtime_api(
        client,
        "AssetConversionApi",
        "quote_price_tokens_for_exact_tokens",
        *currency.path,
        fee,
        True,
    )
    if answer is None:
        raise FeeRefused(
            f"{client.chain.title} cannot take the fee in {currency.asset.label}: it has "
            f"no pool with enough {client.chain.symbol} to exchange it; pay the fee in "
            "another asset"
        )
    return int(answer)


async def _oracle_quote(client: "Client", number: int) -> tuple[int, int] | None:
    """Return what one weight costs in a currency and in the native asset; None if the oracle has no
    price."""
    place = write_location(await read_storage(client, "AssetRegistry", "AssetLocations", number))
    if not place:
        return None
    native = int(
        await query_runtime_api(client, "TransactionPaymentApi", "query_weight_to_fee", _SECOND)
    )
    asset = {"V5": read_location(place)}
    answer = await query_runtime_api(
        client, "XcmPaymentApi", "query_weight_to_asset_fee", _SECOND, asset
    )
    if not isinstance(answer, Mapping) or "Ok" not in answer or not native:
        return None
    return int(answer["Ok"]), native


def unlisted_currency(chain: "Chain", number: int, kind: str = "tokens") -> Asset:
    """Return a currency of *chain* that is not listed here, and so has neither symbol nor
    decimals."""
    return Asset(chain=chain.name, id=str(number), symbol="", decimals=None, kind=kind)


async def _unlisted(client: "Client", number: int) -> Asset:
    row = await read_storage(client, "AssetRegistry", "Assets", number)
    kind = "erc20" if row is not None and row["asset_type"] == "Erc20" else "tokens"
    return unlisted_currency(client.chain, number, kind)


def _currency_set_by(call: "Call", table: "RuntimeTable") -> int | None:
    """Return the currency that *call* sets, itself or as the first of a batch."""
    for found in islice(walk_calls(call, table), 2):
        outer = found.outer
        is_first = outer is None or (outer.pallet, outer.method) in _FIRST
        if is_first and (found.call.pallet, found.call.method) == (_PALLET, "set_currency"):
            return int(found.call.args["currency"])
    return None


#: An account that nobody has: it gets the fee that a pool exchanges, and what accounts can spend in
#: the end, within the dry run only.
_COLLECTOR = b"fee of a dry run".ljust(32, b"\0")
#: What taking a fee can do to an account beside making it poorer.
_CLOSINGS = frozenset(("DustLost", "KilledAccount"))
#: How accounts give all that they can spend, and how root frees what is reserved or on hold.
_SPEND, _FREE = ("Balances", "transfer_all"), ("Balances", "force_unreserve")
_MOST = 2**128 - 1


@dataclass(frozen=True, kw_only=True)
class FeeCharge:
    """The fee that is taken before a call runs."""

    sender: bytes
    currency: "FeeCurrency"
    #: Smallest units of the currency.
    amount: int
    #: What it is in the native asset.
    native_amount: int
    #: What the runtime says of the transaction: its weight, its class, and `partial_fee`.
    info: Mapping[str, Any]

    @property
    def label(self) -> "Amount":
        """As it is printed."""
        return amount_of(self.currency.asset, self.amount)


@dataclass(frozen=True, kw_only=True)
class Left:
    """What an account has of the native asset after the call, raw."""

    spendable: int
    #: Reserved or on hold.
    reserved: int


@dataclass(frozen=True, kw_only=True)
class ChargedRun:
    """What happened once the fee was taken."""

    events: "tuple[Event, ...]"
    #: By account; without those whose balance the events don't tell.
    left: "Mapping[bytes, Left]"
    #: The DispatchError of the call; None if it succeeded.
    error: Any = None
    #: The DispatchError of taking the fee; None if it could be taken.
    fee_error: Any = None


def call_with_fee(
    table: "RuntimeTable",
    call: Call,
    sender: bytes,
    charge: FeeCharge | None,
    watched: Sequence[bytes] = (),
) -> bytes:
    """Return the call that root makes: take the fee, then dispatch *call* as the *sender*, then
    have the events tell what *watched* accounts have left.

    InvalidRequest if the runtime lacks a call that is needed.
    """
    steps = [
        *([] if charge is None else _fee_calls(table, charge)),
        _dispatched_as(sender, {call.pallet: {call.method: call.args}}),
        *([_open_collector(table, sender)] if watched else []),
    ]
    for who in watched:
        dest = account_argument(table, *_SPEND, "dest", _COLLECTOR[: len(who)])
        address = account_argument(table, *_FREE, "who", who)
        everything = {"transfer_all": {"dest": dest, "keep_alive": False}}
        steps += [
            _dispatched_as(who, {"Balances": everything}),
            {"Balances": {"force_unreserve": {"who": address, "amount": _MOST}}},
        ]
    return table.encode_call(Call(pallet="Utility", method="batch_all", args={"calls": steps}))


def read_charged_run(
    charge: FeeCharge | None, events: "Sequence[Event]", watched: Sequence[bytes] = ()
) -> ChargedRun:
    """Return what the call did, and what *watched* accounts have left, out of the *events* of a
    charged dry run that succeeded as a whole.

    InvalidRequest if they do not tell.
    """
    completed = [
        number for number, event in enumerate(events) if str(event) == "Utility.ItemCompleted"
    ]
    # What takes the fee comes first, and none of it is a batch; nor is what comes in the end.
    before = 0 if charge is None else 2 if charge.currency.path else 1
    after = 1 + 2 * len(watched) if watched else 0
    began = completed[before - 1] + 1 if 0 < before <= len(completed) else 0
    done = events[began : completed[-1 - after]] if len(completed) > before + after else ()
    taken = events[: max(began - 1, 0)]
    results = [each for each in (*taken, *done[-1:]) if str(each) == "Utility.DispatchedAs"]
    if not results or results[-1] is not done[-1]:
        raise InvalidRequest("its events do not show what the call did")
    left = {}
    for number, who in enumerate(watched):
        first, second, third = completed[len(completed) - after + 2 * number :][:3]
        spent = [
            each.fields["amount"]
            for each in events[first:second]
            if str(each) == "Balances.Transfer" and each.fields["from"] == who
        ]
        freed = [
            each.fields["amount"]
            for each in events[second:third]
            if str(each) == "Balances.Unreserved"
        ]
        if spent:
            left[who] = Left(spendable=sum(spent), reserved=sum(freed))
    is_bought = charge is None or charge.currency.number is not None
    return ChargedRun(
        events=(*(event for event in taken if event.name in _CLOSINGS), *done[:-1]),
        left=left,
        error=_error(done[-1]),
        fee_error=None if is_bought else _error(results[0]),
    )


def _open_collector(table: "RuntimeTable", like: bytes) -> dict[str, Any]:
    """Return the call that lets the collector receive anything; its account is as long as one
    *like* others of the chain."""
    who = account_argument(table, "Balances", "force_set_balance", "who", _COLLECTOR[: len(like)])
    least = int(table.constant(*NATIVE_DEPOSIT))
    return {"Balances": {"force_set_balance": {"who": who, "new_free": least}}}


def _fee_calls(table: "RuntimeTable", charge: FeeCharge) -> list[Any]:
    """Return the calls that take the fee."""
    currency = charge.currency
    if currency.path:
        # An account is opened for the fee, and the fee bought into it as the runtime does.
        swap = {
            "path": list(currency.path),
            "amount_out": charge.native_amount,
            "amount_in_max": charge.amount,
            "send_to": _COLLECTOR,
            "keep_alive": True,
        }
        return [
            _open_collector(table, charge.sender),
            _dispatched_as(
                charge.sender, {"AssetConversion": {"swap_tokens_for_exact_tokens": swap}}
            ),
        ]
    if currency.number is None:
        # Fees are taken from what the sender can spend and stay alive; so is this.
        burn = {"burn": {"value": charge.amount, "keep_alive": True}}
        return [_dispatched_as(charge.sender, {"Balances": burn})]
    who = account_argument(table, "Currencies", "update_balance", "who", charge.sender)
    arguments = {"who": who, "currency_id": currency.number, "amount": -charge.amount}
    return [{"Currencies": {"update_balance": arguments}}]


def _dispatched_as(who: bytes, call: Mapping[str, Any]) -> dict[str, Any]:
    return {"Utility": {"dispatch_as": {"as_origin": {"system": {"Signed": who}}, "call": call}}}


def _error(event: "Event") -> Any:
    result = event.fields["result"]
    return result.get("Err") if isinstance(result, dict) else result


#: Reference time counts picoseconds.
_PICOSECONDS = 10**12


def explain_overweight(table: "RuntimeTable", chain: "Chain", info: Mapping[str, Any]) -> str:
    """Return why *chain* includes no transaction as heavy as *info* says; empty if it does."""
    try:
        limits = table.constant("System", "BlockWeights")["per_class"][str(info["class"]).lower()]
    except (InvalidRequest, KeyError):
        raise Inconclusive(
            f"the weight limit of a transaction on {chain.title} could not be read"
        ) from None
    limit, weight = limits["max_extrinsic"], info["weight"]
    if limit is None:
        return ""
    if weight["ref_time"] > limit["ref_time"]:
        return (
            f"the transaction is too heavy for a block of {chain.title}: it takes "
            f"{_seconds(weight)} of computing time, and the limit of a transaction is "
            f"{_seconds(limit)}. Split it"
        )
    if weight["proof_size"] > limit["proof_size"]:
        return (
            f"the transaction is too heavy for a block of {chain.title}: its proof takes "
            f"{weight['proof_size']} bytes, and the limit of a transaction is "
            f"{limit['proof_size']}. Split it"
        )
    return ""


def _seconds(weight: Mapping[str, int]) -> str:
    return f"{weight['ref_time'] / _PICOSECONDS:.3f} s"


async def explain_bound(
    client: "Client", call: "Call", fee: "FeeCharge", spent: Mapping[str, Any] | None
) -> str:
    """Return why *fee* is only a bound, and what is taken of it; empty if it is the fee itself.

    *spent* is the PostDispatchInfo of the dry run of *call*; None if that failed.
    """
    named = _names_weight(await client.table(), call)
    if spent is None and not named:
        return ""
    why = f"the fee on {client.chain.title} is at most {fee.label}"
    if named:
        why += ", for the weight or gas that the call names"
    try:
        native = await _fee_taken(client, call, fee.info, spent)
        if fee.currency.path and native < fee.native_amount:
            # At the price that the call leaves, less the pool's own fee.
            return f"{why}: the pool exchanges back what isn't used"
        taken = await convert_fee(client, fee.currency, native) if native else 0
    except Inconclusive:
        return f"{why}: the chain refunds what isn't used"
    if taken >= fee.amount:
        return ""
    return (
        f"{why}: about {amount_of(fee.currency.asset, taken)} of it is taken, and the rest is "
        "refunded"
    )


def _names_weight(table: "RuntimeTable", call: "Call") -> bool:
    """Tell whether *call*, or a call inside it, has an argument that is a weight or an amount of
    gas."""
    return any(
        field.name == "gas_limit" or table.types[field.type_id][0].endswith("::Weight")
        for inner in walk_calls(call, table)
        for field in table.call_fields(inner.call.pallet, inner.call.method)
    )


async def _fee_taken(
    client: "Client", call: "Call", info: Mapping[str, Any], spent: Mapping[str, Any] | None
) -> int:
    """Return what remains of the fee of *info*, raw, once the weight that *call* doesn't use is
    refunded.

    Inconclusive if the chain doesn't tell.
    Source: `compute_actual_fee` of pallet-transaction-payment of polkadot-sdk, read 2026-11-24.
    """
    if spent is None:
        raise Inconclusive("a dry run doesn't tell the weight that is used")
    if spent.get("pays_fee") == "No":
        return 0
    fee, used = int(info["partial_fee"]), spent.get("actual_weight")
    # Nothing is left of all that the transaction weighs, if no signed extension adds to it.
    if used is None or all(used[name] >= value for name, value in info["weight"].items()):
        return fee
    data = Encoded((await client.table()).encode_call(call))
    length = len(data).to_bytes(4, "little")
    # What a dry run uses is without the weight of the signed extensions, which the quote has.
    own = await query_runtime_api(
        client, "TransactionPaymentCallApi", "query_call_info", data, Encoded(length)
    )
    if own["weight"] == used:
        return fee
    left = {
        name: max(value - own["weight"][name] + used[name], 0)
        for name, value in info["weight"].items()
    }
    quoted, needed = [
        int(await query_runtime_api(client, "TransactionPaymentApi", "query_weight_to_fee", weight))
        for weight in (info["weight"], left)
    ]
    multiplier = int(await read_storage(client, "TransactionPayment", "NextFeeMultiplier"))
    return max(fee - multiplier * quoted // _ONE + multiplier * needed // _ONE, 0)
