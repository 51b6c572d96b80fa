"""New accounts on a rig, what they hold, and the calls that they make."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from scenarioctl.application import Application
from scenarioctl.model.calls import Call
from scenarioctl.transactions.simulation.costs import dispatch_info
from scenarioctl.transactions.transfer.build import account_argument, build_transfer
from scenarioctl.transactions.transfer.request import Transfer
from tests.live.playing import endow, new_key, put
from tests.live.recorder import fresh
from tests.live.setup import POOL_LIQUIDITY, send
from tests.runner import finish
from tests.signing import dev_key

ALICE = dev_key("//Alice")
UNIT = 10**12
FREE = 10 * UNIT
USDT = 1984
#: An asset that alone keeps no account alive.
MEAGER = 7_000_001
NATIVE = {"parents": 1, "interior": "Here"}
USDT_PLACE = {"parents": 0, "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": USDT}]}}
CHAINS = ("liveRelay", "liveHub", "liveDex")


class Sender:
    """A new account on one chain, and the calls that it makes."""

    def __init__(self, app: Application, chain: str) -> None:
        self.app = app
        self.chain = app.registry.find(chain)
        self.table = finish(app.client(self.chain).table())
        self.key = new_key()
        self.account: bytes = self.key.public_key

    @cached_property
    def deposit(self) -> int:
        return int(self.table.constant("Balances", "ExistentialDeposit"))

    def holds(self, free: int, **other: int) -> "Sender":
        endow(self.app, self.chain, self.account, free, **other)
        return self

    def is_given(self, amount: int, asset: int = USDT) -> "Sender":
        """Receive *amount* of *asset* from Alice."""
        if self.chain.name == "liveHub":
            given = Call(
                pallet="Assets",
                method="transfer",
                args={"id": asset, "target": {"Id": self.account}, "amount": amount},
            )
        else:
            args = {"dest": self.account, "currency_id": asset, "amount": amount}
            given = Call(pallet="Tokens", method="transfer", args=args)
        send(self.app, self.chain, given, ALICE)
        return self

    def pays_in(self, currency: int) -> "Sender":
        put(
            self.app,
            self.chain,
            "MultiTransactionPayment",
            "AccountCurrencyMap",
            self.account,
            value=currency,
        )
        return self

    def makes(self, call: Call) -> Call:
        return call

    def fee(self, call: Call) -> int:
        info = finish(dispatch_info(self.app.client(self.chain), call, self.account))
        return int(info["partial_fee"])

    def less_fee(self, make: Callable[[int], Call]) -> Call:
        """Return the call that leaves its own fee, to the last unit."""
        return make(self.fee(make(UNIT // 1000)))

    def less_than_fee(self, make: Callable[[int], Call]) -> Call:
        """Return the call that leaves a little less than its own fee."""
        return make(self.fee(make(UNIT // 1000)) * 97 // 100)

    # Calls

    def sends(self, value: int, method: str = "transfer_keep_alive", to: bytes = b"") -> Call:
        dest = account_argument(self.table, "Balances", method, "dest", to or ALICE.public_key)
        return Call(pallet="Balances", method=method, args={"dest": dest, "value": value})

    def sends_all(self, *, keep_alive: bool) -> Call:
        dest = account_argument(self.table, "Balances", "transfer_all", "dest", ALICE.public_key)
        return Call(
            pallet="Balances", method="transfer_all", args={"dest": dest, "keep_alive": keep_alive}
        )

    def sends_asset(
        self, amount: int, method: str = "transfer", asset: int = USDT, to: bytes = b""
    ) -> Call:
        target = {"Id": to or ALICE.public_key}
        return Call(
            pallet="Assets", method=method, args={"id": asset, "target": target, "amount": amount}
        )

    def sends_token(self, amount: int, currency: int = 10, method: str = "transfer") -> Call:
        args = {"dest": ALICE.public_key, "currency_id": currency, "amount": amount}
        return Call(pallet="Tokens", method=method, args=args)

    def goes_to(self, destination: str, asset: str, amount: int) -> Call:
        transfer = Transfer(
            source=self.chain,
            destination=self.app.registry.find(destination),
            asset=self.app.assets.find(self.chain, asset),
            amount=amount,
            beneficiary=fresh(32),
        )
        return build_transfer(transfer, self.table, assets=self.app.assets).call

    def acts_for(self, real: bytes, call: Call) -> Call:
        entry = [{"delegate": self.account, "proxy_type": "Any", "delay": 0}]
        put(self.app, self.chain, "Proxy", "Proxies", real, value=[entry, 0])
        args = {"real": {"Id": real}, "force_proxy_type": None, "call": value(call)}
        return Call(pallet="Proxy", method="proxy", args=args)


def value(call: Call) -> dict[str, Any]:
    return {call.pallet: {call.method: call.args}}


def batch(*calls: Call, method: str = "batch") -> Call:
    return Call(pallet="Utility", method=method, args={"calls": [value(call) for call in calls]})


def remark(text: bytes = b"paid") -> Call:
    return Call(pallet="System", method="remark", args={"remark": text})


def set_currency(currency: int) -> Call:
    return Call(
        pallet="MultiTransactionPayment", method="set_currency", args={"currency": currency}
    )


def halves(s: Sender, total: int, method: str) -> Call:
    return batch(s.sends(total // 2), s.sends(total - total // 2), method=method)


def add_proxy(s: Sender) -> Call:
    delegate = account_argument(s.table, "Proxy", "add_proxy", "delegate", ALICE.public_key)
    args = {"delegate": delegate, "proxy_type": "Any", "delay": 0}
    return Call(pallet="Proxy", method="add_proxy", args=args)


def proxy_deposit(s: Sender) -> int:
    base, factor = (
        s.table.constant("Proxy", name) for name in ("ProxyDepositBase", "ProxyDepositFactor")
    )
    return int(base + factor)


def multisig() -> Call:
    others = sorted((ALICE.public_key, dev_key("//Bob").public_key))
    weight = {"ref_time": 10**9, "proof_size": 10**5}
    args = {
        "threshold": 2,
        "other_signatories": others,
        "maybe_timepoint": None,
        "call": value(remark()),
        "max_weight": weight,
    }
    return Call(pallet="Multisig", method="as_multi", args=args)


def multisig_deposit(s: Sender) -> int:
    base, factor = (s.table.constant("Multisig", name) for name in ("DepositBase", "DepositFactor"))
    return int(base + 2 * factor)


def create_asset(s: Sender) -> Call:
    args = {
        "id": 50_000_000 + int.from_bytes(fresh(3)),
        "admin": {"Id": s.account},
        "min_balance": 1,
    }
    return Call(pallet="Assets", method="create", args=args)


def execute(s: Sender, amount: int) -> Call:
    """Return a program that withdraws *amount* and deposits it with somebody else."""
    here = {"parents": 0 if s.chain.role == "relay" else 1, "interior": "Here"}
    bob = {"AccountId32": {"network": None, "id": dev_key("//Bob").public_key}}
    program = [
        {"WithdrawAsset": [{"id": here, "fun": {"Fungible": amount}}]},
        {
            "DepositAsset": {
                "assets": {"Wild": {"AllCounted": 1}},
                "beneficiary": {"parents": 0, "interior": {"X1": [bob]}},
            }
        },
    ]
    args = {"message": {"V5": program}, "max_weight": {"ref_time": 10**10, "proof_size": 10**5}}
    return Call(
        pallet="XcmPallet" if s.chain.role == "relay" else "PolkadotXcm",
        method="execute",
        args=args,
    )


def swap_on_hub(s: Sender, amount: int) -> Call:
    native, other = POOL_LIQUIDITY
    args = {
        "path": [NATIVE, USDT_PLACE],
        "amount_in": amount,
        "amount_out_min": amount * other // native * 9 // 10,
        "send_to": s.account,
        "keep_alive": False,
    }
    return Call(pallet="AssetConversion", method="swap_exact_tokens_for_tokens", args=args)


def endowed(s: Sender, free: int) -> bytes:
    other = new_key().public_key
    endow(s.app, s.chain, other, free)
    return bytes(other)
