"""A call tried as a block runs it: with its fee taken from the sender first.

A dry run takes no fee, so a call that spends all that the sender has passes there and fails on chain.  Therefore the dry run is
made as root: it takes the fee by the runtime's own rules, and dispatches the call as the sender after that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.native_balance import NATIVE_DEPOSIT
from scenarioctl.transactions.simulation.findings import amount_of
from scenarioctl.transactions.transfer.local_transfer import account_argument

if TYPE_CHECKING:
    from scenarioctl.model.checks import Amount
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.simulation.fee_currency import FeeCurrency

#: An account that nobody has: it gets the fee that a pool exchanges, within the dry run only.
_COLLECTOR = b"fee of a dry run".ljust(32, b"\0")
#: What taking a fee can do to an account beside making it poorer.
_CLOSINGS = frozenset(("DustLost", "KilledAccount"))


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
class ChargedRun:
    """What happened once the fee was taken."""

    events: "tuple[Event, ...]"
    #: The DispatchError of the call; None if it succeeded.
    error: Any = None
    #: The DispatchError of taking the fee; None if it could be taken.
    fee_error: Any = None


def call_with_fee(table: "RuntimeTable", call: Call, charge: FeeCharge) -> bytes:
    """Return the call that root makes: take the fee, then dispatch *call* as the sender.

    InvalidRequest if the runtime lacks a call that is needed.
    """
    steps = [*_fee_calls(table, charge), _as_sender(charge, {call.pallet: {call.method: call.args}})]
    return table.encode_call(Call(pallet="Utility", method="batch_all", args={"calls": steps}))


def read_charged_run(charge: FeeCharge, events: "Sequence[Event]") -> ChargedRun:
    """Return what the call did, out of the *events* of a charged dry run that succeeded as a whole.

    InvalidRequest if they do not tell.
    """
    results = [number for number, event in enumerate(events) if str(event) == "Utility.DispatchedAs"]
    completed = [number for number, event in enumerate(events) if str(event) == "Utility.ItemCompleted"]
    # Those that take the fee come first, and none of them is a batch.
    steps = 2 if charge.currency.path else 1
    if len(completed) < steps or not results or results[-1] < completed[steps - 1]:
        raise InvalidRequest("its events do not show what the call did")
    taken, done = events[: completed[steps - 1]], events[completed[steps - 1] + 1 : results[-1]]
    return ChargedRun(
        events=(*(event for event in taken if event.name in _CLOSINGS), *done),
        error=_error(events[results[-1]]),
        fee_error=None if charge.currency.number is not None else _error(events[results[0]]),
    )


def _fee_calls(table: "RuntimeTable", charge: FeeCharge) -> list[Any]:
    """Return the calls that take the fee."""
    currency = charge.currency
    if currency.path:
        # An account is opened for the fee, and the fee bought into it as the runtime does.
        least = int(table.constant(*NATIVE_DEPOSIT))
        swap = {
            "path": list(currency.path),
            "amount_out": charge.native_amount,
            "amount_in_max": charge.amount,
            "send_to": _COLLECTOR,
            "keep_alive": True,
        }
        return [
            {"Balances": {"force_set_balance": {"who": {"Id": _COLLECTOR}, "new_free": least}}},
            _as_sender(charge, {"AssetConversion": {"swap_tokens_for_exact_tokens": swap}}),
        ]
    if currency.number is None:
        # Fees are taken from what the sender can spend and stay alive; so is this.
        return [_as_sender(charge, {"Balances": {"burn": {"value": charge.amount, "keep_alive": True}}})]
    who = account_argument(table, "Currencies", "update_balance", "who", charge.sender)
    arguments = {"who": who, "currency_id": currency.number, "amount": -charge.amount}
    return [{"Currencies": {"update_balance": arguments}}]


def _as_sender(charge: FeeCharge, call: Mapping[str, Any]) -> dict[str, Any]:
    return {"Utility": {"dispatch_as": {"as_origin": {"system": {"Signed": charge.sender}}, "call": call}}}


def _error(event: "Event") -> Any:
    result = event.fields["result"]
    return result.get("Err") if isinstance(result, dict) else result
