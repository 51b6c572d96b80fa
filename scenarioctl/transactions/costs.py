"""What a transaction takes from its sender, held against what the sender has."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.arrival import delivery_tolls
from scenarioctl.transactions.balances import existential_deposit, free_balance, pays_fees_in
from scenarioctl.transactions.dry_run import Encoded, Message, Unproven, ask
from scenarioctl.transactions.extrinsic import SigningOptions, encode_era, signing_payload
from scenarioctl.transactions.findings import Findings, amount_of, asset_at
from scenarioctl.transactions.signatures import signed_extrinsic

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable

#: A signature that reads as one, for the fee of a transaction that nobody has signed yet.
_SIGNATURE = bytes((1,)) * 64


class CostCheck:
    """Fees, delivery and what leaves, against the balances of one sender."""

    def __init__(self, findings: Findings, client: "Client", assets: "Assets", sender: bytes) -> None:
        self.findings = findings
        self.client = client
        self.chain = client.chain
        self.assets = assets
        self.sender = sender

    async def check(
        self, call: "Call", sent: "Sequence[tuple[Asset, int]]", messages: Sequence[Message]
    ) -> None:
        """Add the fee and the delivery to the steps, and hold the sender's balances against all that leaves."""
        native = self.assets.native(self.chain)
        costs: dict[str, int] = {}
        names: dict[str, Asset] = {}
        for asset, amount in sent:
            costs[asset.id] = costs.get(asset.id, 0) + amount
            names[asset.id] = asset
        try:
            fee = await transaction_fee(self.client, call, self.sender)
            self.findings.add_step(self.chain, "transaction fee", native, fee)
            for message in messages:
                for toll in await delivery_tolls(self.client, message):
                    asset = asset_at(self.assets, self.chain, toll.identity) or native
                    names[asset.id] = asset
                    costs[asset.id] = costs.get(asset.id, 0) + toll.amount
                    self.findings.add_step(self.chain, "delivery", asset, toll.amount)
            for asset_id, amount in costs.items():
                if asset_id != native.id:
                    await self._check_balance(names[asset_id], amount, amount)
            if await pays_fees_in(self.client, self.sender) is None:
                await self._check_native(native, fee, costs.get(native.id, 0))
            else:
                self.findings.warnings.append(
                    f"the sender pays fees on {self.chain.name} in another currency than {native.symbol}, whose balance was not held against the fee"
                )
        except Unproven as problem:
            self.findings.open.append(str(problem))

    async def _check_balance(self, asset: "Asset", needed: int, amount: int) -> None:
        balance = await free_balance(self.client, asset, self.sender)
        if balance < needed:
            self.findings.refusals.append(
                f"the sender can spend {amount_of(asset, balance)} on {self.chain.name}, and {amount_of(asset, needed)} would leave"
            )
        elif 0 < balance - amount < await existential_deposit(self.client, asset):
            self.findings.warnings.append(
                f"{amount_of(asset, balance - amount)} would stay with the sender, less than can be held on {self.chain.name}: it can be lost"
            )

    async def _check_native(self, native: "Asset", fee: int, amount: int) -> None:
        balance = await free_balance(self.client, native, self.sender)
        deposit = await existential_deposit(self.client, native)
        left = balance - fee - amount
        if balance < fee + deposit:
            self.findings.refusals.append(
                f"the sender can spend {amount_of(native, balance)} on {self.chain.name}: the fee of {amount_of(native, fee)} is taken only where the existential deposit of {amount_of(native, deposit)} stays"
            )
        elif left < 0:
            self.findings.refusals.append(
                f"the sender can spend {amount_of(native, balance)} on {self.chain.name}, and {amount_of(native, fee + amount)} would leave with the fees"
            )
        elif left < deposit:
            self.findings.warnings.append(
                f"{amount_of(native, left)} would stay with the sender on {self.chain.name}, less than the existential deposit of {amount_of(native, deposit)}: the account can be closed, and that is lost"
            )


async def transaction_fee(client: "Client", call: "Call", sender: bytes) -> int:
    """Return what a transaction of *call* costs, raw in the native asset, signed with a mortal era and no tip."""
    try:
        table = await client.table()
        nonce = (await client.storage("System", "Account", sender))["nonce"]
        number, _ = await client.head()
        data = _signed_alike(table, table.encode_call(call), sender, nonce, encode_era(64, number))
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        raise Unproven(f"the fee on {client.chain.name} could not be asked for: {error}") from None
    size = len(data).to_bytes(4, "little")
    info = await ask(client, "TransactionPaymentApi", "query_info", Encoded(data), Encoded(size))
    return int(info["partial_fee"])


def _signed_alike(table: "RuntimeTable", call_data: bytes, sender: bytes, nonce: int, era: bytes) -> bytes:
    """Return an extrinsic as long and as heavy as the signed one will be."""
    options = SigningOptions(
        nonce=nonce, era=era, genesis_hash=bytes(32), block_hash=bytes(32), mode=0, metadata_hash=None
    )
    extra = signing_payload(table, call_data, options).extra
    return signed_extrinsic(table, call_data, extra, account=sender, scheme="sr25519", signature=_SIGNATURE)
