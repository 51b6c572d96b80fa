"""A call tried as a block runs it: with its fee taken from the sender first.

A dry run takes no fee, so a call that spends all that the sender has passes there and fails on chain.  Therefore the dry run is
made as root: it takes the fee by the runtime's own rules, and dispatches the call as the sender after that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.transfer.local_transfer import account_argument

if TYPE_CHECKING:
    from scenarioctl.model.checks import Amount
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.events import Event

#: Stands for the call in `dispatch_as` until its bytes take its place.
_PLACEHOLDER = Call(pallet="System", method="remark", args={"remark": b""})
#: An account that nobody has: it gets the fee that a pool exchanges, within the dry run only.
_COLLECTOR = b"fee of a dry run".ljust(32, b"\0")
#: What taking a fee can do to an account beside making it poorer.
_CLOSINGS = frozenset(("DustLost", "KilledAccount"))


@dataclass(frozen=True, kw_only=True)
class FeeCharge:
    """The fee that is taken before a call runs."""

    sender: bytes
    #: Smallest units of the currency.
    amount: int
    #: What it is in the native asset.
    native_amount: int
    #: Number of the currency where the chain lets accounts choose one; None on every other chain.
    currency: int | None = None
    #: Where a pool exchanges it: the locations of the asset that pays and of the native one.
    path: tuple[Any, ...] = ()
    #: As it is printed.
    label: "Amount"


@dataclass(frozen=True, kw_only=True)
class ChargedRun:
    """What happened once the fee was taken."""

    events: "tuple[Event, ...]"
    #: The DispatchError of the call; None if it succeeded.
    error: Any = None
    #: The DispatchError of taking the fee; None if it could be taken.
    fee_error: Any = None


def call_with_fee(table: "RuntimeTable", call_data: bytes, charge: FeeCharge) -> bytes:
    """Return the call that root makes: take the fee, then dispatch *call_data* as the sender.

    InvalidRequest if the runtime lacks a call that is needed.
    """
    steps = (*_fee_calls(table, charge), _dispatch_as(table, charge.sender, call_data))
    batch = table.encode_call(Call(pallet="Utility", method="batch_all", args={"calls": []}))
    # An empty list is the byte of its length, 0: that of the steps takes its place, as a compact.
    return batch[:-1] + bytes((len(steps) << 2,)) + b"".join(steps)


def read_charged_run(charge: FeeCharge, events: "Sequence[Event]") -> ChargedRun:
    """Return what the call did, out of the *events* of a charged dry run that succeeded as a whole.

    InvalidRequest if they do not tell.
    """
    results = [number for number, event in enumerate(events) if str(event) == "Utility.DispatchedAs"]
    completed = [number for number, event in enumerate(events) if str(event) == "Utility.ItemCompleted"]
    # Those that take the fee come first, and none of them is a batch.
    steps = 2 if charge.path else 1
    if len(completed) < steps or not results or results[-1] < completed[steps - 1]:
        raise InvalidRequest("its events do not show what the call did")
    taken, done = events[: completed[steps - 1]], events[completed[steps - 1] + 1 : results[-1]]
    return ChargedRun(
        events=(*(event for event in taken if event.name in _CLOSINGS), *done),
        error=_error(events[results[-1]]),
        fee_error=None if charge.currency is not None else _error(events[results[0]]),
    )


def _fee_calls(table: "RuntimeTable", charge: FeeCharge) -> tuple[bytes, ...]:
    """Return the calls that take the fee."""
    return _exchange_calls(table, charge) if charge.path else (_fee_call(table, charge),)


def _exchange_calls(table: "RuntimeTable", charge: FeeCharge) -> tuple[bytes, bytes]:
    """Return the calls that open an account for the fee, and buy the fee into it as the runtime does."""
    deposit = {
        "who": {"Id": _COLLECTOR},
        "new_free": int(table.constant("Balances", "ExistentialDeposit")),
    }
    swap = {
        "path": list(charge.path),
        "amount_out": charge.native_amount,
        "amount_in_max": charge.amount,
        "send_to": _COLLECTOR,
        "keep_alive": True,
    }
    return (
        table.encode_call(Call(pallet="Balances", method="force_set_balance", args=deposit)),
        _dispatch_as(
            table,
            charge.sender,
            table.encode_call(
                Call(pallet="AssetConversion", method="swap_tokens_for_exact_tokens", args=swap)
            ),
        ),
    )


def _fee_call(table: "RuntimeTable", charge: FeeCharge) -> bytes:
    if charge.currency is None:
        # Fees are taken from what the sender can spend and stay alive; so is this.
        arguments = {"value": charge.amount, "keep_alive": True}
        return _dispatch_as(
            table, charge.sender, table.encode_call(Call(pallet="Balances", method="burn", args=arguments))
        )
    pallet, method = "Currencies", "update_balance"
    who = account_argument(table, pallet, method, "who", charge.sender)
    arguments = {"who": who, "currency_id": charge.currency, "amount": -charge.amount}
    return table.encode_call(Call(pallet=pallet, method=method, args=arguments))


def _dispatch_as(table: "RuntimeTable", sender: bytes, call_data: bytes) -> bytes:
    arguments = {
        "as_origin": {"system": {"Signed": sender}},
        "call": {_PLACEHOLDER.pallet: {_PLACEHOLDER.method: _PLACEHOLDER.args}},
    }
    # The call comes last, and it is the sender's to the byte.
    data = table.encode_call(Call(pallet="Utility", method="dispatch_as", args=arguments))
    return data.removesuffix(table.encode_call(_PLACEHOLDER)) + call_data


def _error(event: "Event") -> Any:
    result = event.fields["result"]
    return result.get("Err") if isinstance(result, dict) else result
