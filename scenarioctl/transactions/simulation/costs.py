"""What a transaction takes from its sender, held against what the sender has."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.extrinsic import encode_era
from scenarioctl.transactions.signing.fee_asset import fee_asset_id
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from scenarioctl.transactions.signing.signatures import (
    ETHEREUM,
    SCHEMES,
    encode_signed_extrinsic,
    takes_ethereum_signatures,
)
from scenarioctl.transactions.simulation.fees import (
    FeeCharge,
    FeeRefused,
    convert_fee,
    explain_bound,
    explain_overweight,
    fee_currency,
)
from scenarioctl.transactions.simulation.runtime_api import (
    Encoded,
    Inconclusive,
    amount_of,
    asset_at,
    existential_deposit,
    free_balance,
    native_balance,
    query_runtime_api,
)
from scenarioctl.transactions.simulation.trapped_assets import check_dust
from scenarioctl.transactions.transfer.ways import UNLISTED

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.trial import Trial

#: A signature that reads as one, for the fee of a transaction that nobody has signed yet.
_SIGNATURE = bytes((1,)) * 64


class CostCheck:
    """Fee, deposits, delivery and what leaves, against the balances of one sender.

    First `charge`, then the call is tried with that, then `check`.
    """

    def __init__(self, trial: "Trial") -> None:
        self.trial = trial
        self.findings = trial.findings
        self.client = trial.clients(trial.chain)
        self.chain = trial.chain
        self.native = trial.assets.native(trial.chain)
        self.sender = trial.sender
        self.call = trial.call
        #: What pays the fee, and how much of it; None if the chain did not tell.
        self.fee: FeeCharge | None = None
        self.can_pay = True
        #: Why no block takes the transaction; empty if one does.
        self.too_heavy = ""

    async def charge(self) -> FeeCharge | None:
        """Return the fee that is taken before the call; None if there is none, or the sender cannot
        pay it."""
        try:
            info = await dispatch_info(self.client, self.call, self.sender, self.trial.fee_asset)
            self.too_heavy = explain_overweight(await self.client.table(), self.chain, info)
            fee = int(info["partial_fee"])
            currency = await fee_currency(
                self.client, self.trial.assets, self.call, self.sender, self.trial.fee_asset
            )
            amount = await convert_fee(self.client, currency, fee)
            self.fee = FeeCharge(
                sender=self.sender, currency=currency, amount=amount, native_amount=fee, info=info
            )
            self.can_pay = await self._can_pay(self.fee)
        except FeeRefused as problem:
            self.can_pay = False
            self.findings.refusals.append(str(problem))
        except Inconclusive as problem:
            self.findings.unknowns.append(str(problem))
        else:
            return self.fee if amount and self.can_pay else None
        return None

    async def check(self, sent: "Sequence[tuple[Asset, int]]" = ()) -> None:
        """Add what the call costs to the steps, and hold the balances against it.

        *sent* is what a transfer is known to send: it is held against the balances by arithmetic
        too, which says more clearly than the runtime what is missing.
        """
        ledger = self.trial.ledgers[0]
        leaving: Counter[Asset] = Counter()
        for asset, value in sent:
            leaving[asset] += value
        if self.fee is not None:
            bound = await explain_bound(self.client, self.call, self.fee, ledger.hop.spent)
            asset, amount = self.fee.currency.asset, self.fee.amount
            self.findings.add_step(
                self.chain, "transaction fee", asset, amount, at_most=bool(bound)
            )
            self.findings.warnings += [bound] if bound else []
        if ledger.hop.sent and ledger.fees_problem:
            self.findings.unknowns.append(ledger.fees_problem)
        try:
            for fee in ledger.fees:
                asset = asset_at(self.trial.assets, self.chain, fee.identity) or self.native
                # A program pays for its execution out of what it withdraws.
                if fee.what == "delivery":
                    leaving[asset] += fee.amount
                self.findings.add_step(self.chain, fee.what, asset, fee.amount)
            lost = await check_dust(self.trial)
            # A program may pay out of what it holds: the runtime alone knows.
            for asset, amount in leaving.items() if sent and self.can_pay else ():
                if asset.kind != UNLISTED:
                    await self._hold(asset, amount, warned=asset.id in lost)
        except Inconclusive as problem:
            self.findings.unknowns.append(str(problem))

    async def _can_pay(self, fee: FeeCharge) -> bool:
        """Hold the fee alone against the balance, by the rule of the runtime."""
        currency, asset, locked = fee.currency, fee.currency.asset, 0
        if asset.kind == "native":
            held = await native_balance(self.client, self.sender)
            # Where accounts choose a currency, a fee may close the account; everywhere else it may
            # not.
            keep_alive = currency.number is None
            balance, payable = held.spendable(keep_alive=False), held.payable(keep_alive=keep_alive)
            locked = held.frozen if keep_alive else held.locked
            kept = (
                held.existential_deposit if keep_alive and locked < held.existential_deposit else 0
            )
        else:
            balance = await free_balance(self.client, asset, self.sender)
            kept = await existential_deposit(self.client, asset) if currency.path else 0
            payable = balance - kept
        if payable >= fee.amount:
            return True
        if kept:
            why = (
                f"can spend {amount_of(asset, balance)} on {self.chain.title}: the fee of "
                f"{fee.label} can be taken only if the existential deposit of "
                f"{amount_of(asset, kept)} stays"
            )
        else:
            where = f", because {amount_of(asset, locked)} is locked" if locked else ""
            why = (
                f"can spend only {amount_of(asset, payable)} on {self.chain.title}{where}: "
                f"less than the fee of {fee.label}"
            )
        self.findings.refusals.append(f"the sender {why}")
        return False

    async def _hold(self, asset: "Asset", amount: int, *, warned: bool) -> None:
        """Hold what leaves of *asset*, and the fee if it is paid in it, against the balance."""
        charge = self.fee
        fee = charge.amount if charge is not None and charge.currency.asset.id == asset.id else 0
        deposit = await existential_deposit(self.client, asset)
        if asset.kind == "native":
            account = await native_balance(self.client, self.sender)
            # What is locked stays with the sender too.
            balance, held = account.spendable(keep_alive=False), account.free
        else:
            balance = held = await free_balance(self.client, asset, self.sender)
        left = held - amount - fee
        said = (
            f"{amount_of(asset, left)} would stay with the sender on {self.chain.title}, less "
            f"than the existential deposit of {amount_of(asset, deposit)}"
        )
        if balance < amount + fee:
            self.findings.refusals.append(
                f"the sender can spend {amount_of(asset, balance)} on {self.chain.title}, "
                f"but {amount_of(asset, amount + fee)} would "
                f"leave{', fees included' if fee else ''}"
            )
        elif left < deposit and self.call.method.endswith("keep_alive"):
            most = amount_of(asset, max(amount - (deposit - left), 0))
            self.findings.refusals.append(
                f"{said}, which {self.call.pallet}.{self.call.method} keeps: send at most {most}"
            )
        elif 0 < left < deposit and not warned:
            lost = (
                "the account can be closed, and this amount"
                if asset.kind == "native"
                else "it can be"
            )
            self.findings.warnings.append(f"{said}: {lost} lost")


async def dispatch_info(
    client: "Client", call: "Call", sender: bytes, fee_asset: "Asset | None" = None
) -> Mapping[str, Any]:
    """Return what a transaction of *call* weighs and costs, signed with a mortal era and no tip.

    Its `partial_fee` is raw, in the native asset; *fee_asset* is what the transaction names to pay
    it.
    """
    try:
        table = await client.table()
        nonce = (await client.storage("System", "Account", sender))["nonce"]
        number, _ = await client.head()
        asset_id = None if fee_asset is None else fee_asset_id(table, client.chain, fee_asset)
        data = _signed_alike(
            table, table.encode_call(call), sender, nonce, encode_era(64, number), asset_id
        )
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        raise Inconclusive(
            f"the fee on {client.chain.title} could not be queried: {error}"
        ) from None
    size = len(data).to_bytes(4, "little")
    info: Mapping[str, Any] = await query_runtime_api(
        client, "TransactionPaymentApi", "query_info", Encoded(data), Encoded(size)
    )
    return info


def _signed_alike(
    table: "RuntimeTable", call_data: bytes, sender: bytes, nonce: int, era: bytes, asset_id: Any
) -> bytes:
    """Return an extrinsic as long and as heavy as the signed one will be."""
    options = SigningOptions(
        nonce=nonce,
        era=era,
        genesis_hash=bytes(32),
        block_hash=bytes(32),
        asset_id=asset_id,
    )
    extra = signing_payload(table, call_data, options).extra
    scheme, signature = "sr25519", _SIGNATURE
    if takes_ethereum_signatures(table):
        scheme, signature = ETHEREUM, bytes(SCHEMES[ETHEREUM][1])
    return encode_signed_extrinsic(
        table, call_data, extra, account=sender, scheme=scheme, signature=signature
    )
