"""Whether a transaction does what its sender wants, proven before it is signed.

The verdict rests on the beneficiary's credit on the last chain: `Complete` alone is also what a chain says where money
is gone without a trace.  What no chain could prove is `unknown`, never `ok`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, write_location
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.checks import Amount, Check, Step, Stop
from scenarioctl.transactions.arrival import (
    INCOMING,
    Arrival,
    compute_arrival,
    delivery_tolls,
    incoming_assets,
)
from scenarioctl.transactions.balances import existential_deposit, free_balance, pays_fees_in
from scenarioctl.transactions.dry_run import Clients, Encoded, Event, Hop, Message, Unproven, ask, trace_call
from scenarioctl.transactions.extrinsic import SigningOptions, encode_era, signing_payload
from scenarioctl.transactions.signatures import signed_extrinsic

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.transfer import Transfer

#: (pallet, event) -> the fields that name the asset ("" for the native one), who is credited, and how much.
#: Of a pallet's events the first kind that credits an account counts: another may report the same money again.
CREDITS: Mapping[tuple[str, str], tuple[str, str, str]] = {
    ("Balances", "Minted"): ("", "who", "amount"),
    ("Balances", "Deposit"): ("", "who", "amount"),
    ("Balances", "Transfer"): ("", "to", "amount"),
    ("Assets", "Issued"): ("asset_id", "owner", "amount"),
    ("Assets", "Deposited"): ("asset_id", "who", "amount"),
    ("Assets", "Transferred"): ("asset_id", "to", "amount"),
    ("ForeignAssets", "Issued"): ("asset_id", "owner", "amount"),
    ("ForeignAssets", "Deposited"): ("asset_id", "who", "amount"),
    ("ForeignAssets", "Transferred"): ("asset_id", "to", "amount"),
    ("Tokens", "Deposited"): ("currency_id", "who", "amount"),
    ("Tokens", "Transfer"): ("currency_id", "to", "amount"),
    ("Currencies", "Deposited"): ("currency_id", "who", "amount"),
    ("Currencies", "Transferred"): ("currency_id", "to", "amount"),
}
#: An asset's kind -> the pallet that reports its credits; Hydration's Currencies repeats what Tokens reports.
_REPORTING = {
    "native": "Balances",
    "assets": "Assets",
    "foreign": "ForeignAssets",
    "tokens": "Tokens",
    "erc20": "Currencies",
}
#: Events by which a call that succeeds tells that a call inside it did not.
_FAILURES = frozenset(("Utility.BatchInterrupted", "Utility.BatchCompletedWithErrors", "Utility.ItemFailed"))
#: A signature that reads as one, for the fee of a transaction that nobody has signed yet.
_SIGNATURE = bytes((1,)) * 64


async def check_transfer(
    clients: Clients,
    registry: "Registry",
    assets: "Assets",
    *,
    transfer: "Transfer",
    call: "Call",
    sender: bytes,
    beside: "tuple[Asset, int] | None" = None,
) -> Check:
    """Return the verdict on *call*, which makes *transfer* for *sender*.

    *beside* is what leaves with it to pay the fee on the way: an asset of the source, and the raw amount.
    """
    checker = _Checker(clients, registry, assets, transfer.source, sender)
    await checker.try_call(call)
    checker.check_backing()
    sent = [(transfer.asset, transfer.amount), *([beside] if beside else [])]
    checker.steps += [checker.step(transfer.source, "leaves", asset, amount) for asset, amount in sent]
    await checker.check_costs(call, sent)
    await checker.check_arrival(transfer)
    return checker.check()


async def check_call(
    clients: Clients, registry: "Registry", assets: "Assets", *, chain: "Chain", call: "Call", sender: bytes
) -> Check:
    """Return the verdict on any *call* by *sender*: each account that its messages name must be credited in the end."""
    checker = _Checker(clients, registry, assets, chain, sender)
    await checker.try_call(call)
    checker.check_backing()
    await checker.check_costs(call, [])
    await checker.check_deposits()
    return checker.check()


def find_credit(events: Sequence[Event], asset: "Asset", account: bytes) -> int:
    """Return how much of *asset* the events credit to *account*, raw; 0 where they do not."""
    for (pallet, name), names in CREDITS.items():
        if pallet == _REPORTING[asset.kind]:
            found = [
                event.fields[names[2]]
                for event in events
                if (event.pallet, event.name) == (pallet, name)
                and isinstance(event.fields, Mapping)
                and event.fields[names[1]] == account
                and _is_asset(event.fields[names[0]] if names[0] else "", asset)
            ]
            if found:
                return sum(found)
    return 0


def _is_asset(label: Any, asset: "Asset") -> bool:
    if asset.kind == "native":
        return isinstance(label, str) and not label
    if asset.kind == "foreign":
        return bool(write_location(label) == asset.place)
    return str(label) == asset.id


class _Checker:
    """One check as it goes along; what it finds is collected, and judged in the end."""

    def __init__(
        self, clients: Clients, registry: "Registry", assets: "Assets", chain: "Chain", sender: bytes
    ) -> None:
        self.clients = clients
        self.registry = registry
        self.assets = assets
        self.chain = chain
        self.sender = sender
        self.hops: list[Hop] = []
        self.weights: dict[bytes, tuple[int, int]] = {}
        self.steps: list[Step] = []
        self.refusals: list[str] = []
        self.open: list[str] = []
        self.warnings: list[str] = []
        self.computed: Amount | None = None
        self.credited: Amount | None = None

    @property
    def failed(self) -> bool:
        return any(hop.failure or hop.unknown for hop in self.hops)

    @property
    def client(self) -> "Client":
        return self.clients(self.chain)

    def check(self) -> Check:
        verdict = "refused" if self.refusals else "unknown" if self.open else "ok"
        return Check(
            verdict=verdict,
            reasons=tuple(dict.fromkeys(self.refusals or self.open)),
            warnings=tuple(dict.fromkeys(self.warnings)),
            steps=tuple(self.steps),
            computed=self.computed,
            credited=self.credited,
            stops=tuple(self._stop(hop) for hop in self.hops),
        )

    def _stop(self, hop: Hop) -> Stop:
        message = hop.message
        return Stop(
            chain=hop.chain.name,
            tried="call" if message is None else "message",
            outcome="failed" if hop.failure else "unknown" if hop.unknown else "ok",
            reason=hop.failure or hop.unknown,
            message="" if message is None else "0x" + message.data.hex(),
            weight=None if message is None else self.weights.get(message.data),
            events=tuple(str(event) for event in hop.events),
        )

    async def try_call(self, call: "Call") -> None:
        self.hops = await trace_call(self.clients, self.registry, self.chain, call, self.sender)
        for hop in self.hops:
            if hop.failure:
                self.refusals.append(_say_failure(hop))
            elif hop.unknown:
                self.open.append(hop.unknown)
        failure = _inner_failure(self.hops[0])
        if failure:
            self.refusals.append(failure)

    # Backing

    def check_backing(self) -> None:
        """Refuse what would go through over a chain that does not back the asset: no runtime does that for us."""
        for hop in self.hops:
            message = hop.message
            if message is None or message.destination is None or message.first("Transact") is not None:
                continue
            for name, items in message.instructions:
                for item in items if name in INCOMING else ():
                    self._check_backing_of(
                        name, write_location(item["id"]), message.origin, message.destination
                    )

    def _check_backing_of(self, name: str, place: str, origin: "Chain", destination: "Chain") -> None:
        hub = self.registry.sibling(destination, "asset_hub")
        if not place or hub is None:
            self.open.append(
                f"{origin.name} sends an asset to {destination.name} of which it is not known here what chain backs it"
            )
            return
        identity = absolute(place, destination.para_id)
        backing = self._backing(identity, hub)
        label = self._label(identity, destination)
        ends = {_para_name(origin), _para_name(destination)}
        if name == "ReceiveTeleportedAsset":
            trusted = ends == {"", _para_name(hub)} if identity == "" else backing in ends
            if not trusted:
                self.refusals.append(
                    f"{label} would be teleported from {origin.name} to {destination.name}, and neither of them backs it"
                )
            return
        claimed = origin if name == "ReserveAssetDeposited" else destination
        if backing is None:
            self.open.append(f"it is not known here what chain backs {label}, which leaves {origin.name}")
        elif backing != _para_name(claimed):
            keeper = self._named(backing)
            self.refusals.append(
                f"{label} would go from {origin.name} to {destination.name} with {claimed.name} as its reserve, but {keeper} backs it: no chain refuses that, and the backing would be in the wrong place"
            )

    def _backing(self, identity: str, hub: "Chain") -> str | None:
        """Return the chain that backs an asset, `Parachain(1000)`; None where that is not known."""
        if identity == "":
            # In November 2025 the reserve of the relay's asset moved to the Asset Hub.
            return _para_name(hub)
        first = identity.partition("/")[0]
        return first if first.startswith("Parachain(") else None

    def _named(self, para: str) -> str:
        for chain in self.registry.all():
            if chain.relay == self.chain.relay and _para_name(chain) == para:
                return chain.name
        return para

    def _label(self, identity: str, chain: "Chain") -> str:
        asset = self._asset_of(identity, chain)
        return asset.symbol or asset.label if asset is not None else identity or "the relay's asset"

    def _asset_of(self, identity: str, chain: "Chain") -> "Asset | None":
        for asset in self.assets.all(chain):
            if asset.place and absolute(asset.place, chain.para_id) == identity:
                return asset
        return None

    # Costs

    async def check_costs(self, call: "Call", sent: "Sequence[tuple[Asset, int]]") -> None:
        """Add the fee and the delivery to the steps, and hold the sender's balances against all that leaves."""
        native = self.assets.native(self.chain)
        costs: dict[str, int] = {}
        names: dict[str, Asset] = {}
        for asset, amount in sent:
            costs[asset.id] = costs.get(asset.id, 0) + amount
            names[asset.id] = asset
        try:
            fee = await transaction_fee(self.client, call, self.sender)
            self.steps.append(self.step(self.chain, "transaction fee", native, fee))
            for message in self.hops[0].sent:
                for toll in await delivery_tolls(self.client, message):
                    asset = self._asset_of(toll.identity, self.chain) or native
                    names[asset.id] = asset
                    costs[asset.id] = costs.get(asset.id, 0) + toll.amount
                    self.steps.append(self.step(self.chain, "delivery", asset, toll.amount))
            for asset_id, amount in costs.items():
                if asset_id != native.id:
                    await self._check_balance(names[asset_id], amount, amount)
            if await pays_fees_in(self.client, self.sender) is None:
                await self._check_native(native, fee, costs.get(native.id, 0))
            else:
                self.warnings.append(
                    f"the sender pays fees on {self.chain.name} in another currency than {native.symbol}, whose balance was not held against the fee"
                )
        except Unproven as problem:
            self.open.append(str(problem))

    async def _check_balance(self, asset: "Asset", needed: int, amount: int) -> None:
        balance = await free_balance(self.client, asset, self.sender)
        if balance < needed:
            self.refusals.append(
                f"the sender can spend {_amount(asset, balance)} on {self.chain.name}, and {_amount(asset, needed)} would leave"
            )
        elif 0 < balance - amount < await existential_deposit(self.client, asset):
            self.warnings.append(
                f"{_amount(asset, balance - amount)} would stay with the sender, less than can be held on {self.chain.name}: it can be lost"
            )

    async def _check_native(self, native: "Asset", fee: int, amount: int) -> None:
        balance = await free_balance(self.client, native, self.sender)
        deposit = await existential_deposit(self.client, native)
        left = balance - fee - amount
        if balance < fee + deposit:
            self.refusals.append(
                f"the sender can spend {_amount(native, balance)} on {self.chain.name}: the fee of {_amount(native, fee)} is taken only where the existential deposit of {_amount(native, deposit)} stays"
            )
        elif left < 0:
            self.refusals.append(
                f"the sender can spend {_amount(native, balance)} on {self.chain.name}, and {_amount(native, fee + amount)} would leave with the fees"
            )
        elif left < deposit:
            self.warnings.append(
                f"{_amount(native, left)} would stay with the sender on {self.chain.name}, less than the existential deposit of {_amount(native, deposit)}: the account can be closed, and that is lost"
            )

    # Arrival

    async def check_arrival(self, transfer: "Transfer") -> None:
        """Look for the beneficiary's credit on the last chain, and compute what it should be."""
        source, destination = transfer.source, transfer.destination
        same = source.name == destination.name
        asset = transfer.asset if same else self.assets.counterpart(transfer.asset, destination)
        if asset is None:
            self.open.append(
                f"{destination.name} is not known to list {transfer.asset.label}, so its credit there cannot be told from others"
            )
            return
        if same:
            self.computed = _amount(asset, transfer.amount)
        else:
            arrival = await self._compute()
            first = self.hops[0].sent[0] if self.hops[0].sent else None
            identity = absolute(asset.place, destination.para_id)
            if arrival is None:
                pass
            elif first is None or dict(incoming_assets(first)).get(identity) != transfer.amount:
                self.warnings.append(
                    f"the message that leaves {source.name} does not bring {_amount(transfer.asset, transfer.amount)}"
                )
            else:
                self._expect(arrival, asset, destination)
        if self.failed:
            return
        last = self.hops[-1]
        if last.chain.name != destination.name:
            self.refusals.append(f"the transfer ends on {last.chain.name}, and not on {destination.name}")
        elif not self._take_credit(last, asset, transfer.beneficiary):
            self.refusals.append(await self._say_no_credit(last.chain, asset, transfer.beneficiary))

    async def check_deposits(self) -> None:
        """Look for the credit of each account that a last message deposits to."""
        arrival = await self._compute() if any(hop.message for hop in self.hops) else None
        for hop in self.hops:
            message = hop.message
            if message is None or hop.sent or hop.failure or hop.unknown:
                continue
            accounts = list(_deposit_accounts(message))
            if not accounts:
                self.open.append(
                    f"the message that ends on {hop.chain.name} deposits to no account that could be looked for"
                )
            brought = [self._asset_of(identity, hop.chain) for identity, _ in incoming_assets(message)]
            known = [asset for asset in brought if asset is not None]
            if len(known) < len(brought):
                self.open.append(
                    f"a message brings an asset to {hop.chain.name} that is not listed here, its credit could not be looked for"
                )
            fees = message.first("BuyExecution")
            fee_place = "" if fees is None else write_location(fees["fees"]["id"])
            # What only pays the fee for others may be used up.
            for asset in sorted(known, key=lambda asset: asset.place != fee_place):
                if arrival is not None:
                    self._expect(arrival, asset, hop.chain)
                for account in accounts:
                    needed = asset.place != fee_place or len(known) == 1
                    if not self._take_credit(hop, asset, account) and needed:
                        self.refusals.append(await self._say_no_credit(hop.chain, asset, account))

    async def _compute(self) -> Arrival | None:
        """Return what the hops leave, and add what they take to the steps."""
        try:
            arrival = await compute_arrival(self.clients, self.hops)
        except Unproven as problem:
            self.warnings.append(f"the arrival could not be computed: {problem}")
            return None
        self.weights = dict(arrival.weights)
        for toll in arrival.tolls:
            asset = self._asset_of(toll.identity, toll.chain)
            amount = (
                Amount(value=toll.amount, asset=toll.place) if asset is None else _amount(asset, toll.amount)
            )
            self.steps.append(Step(chain=toll.chain.name, what=toll.what, amount=amount))
        return arrival

    def _expect(self, arrival: Arrival, asset: "Asset", chain: "Chain") -> None:
        if self.hops[-1].chain.name == chain.name:
            identity = absolute(asset.place, chain.para_id)
            self.computed = _amount(asset, arrival.assets.get(identity, 0))
            self.steps.append(Step(chain=chain.name, what="computed arrival", amount=self.computed))

    def _take_credit(self, hop: Hop, asset: "Asset", account: bytes) -> bool:
        """Note the credit of *account*, and tell whether there is one."""
        credit = find_credit(hop.events, asset, account)
        if credit:
            self.credited = _amount(asset, credit)
            self.steps.append(self.step(hop.chain, "arrives", asset, credit))
            if self.computed is not None and self.computed != self.credited:
                self.warnings.append(
                    f"computed, {self.computed} arrives on {hop.chain.name}; its dry run credits {self.credited}"
                )
        return credit > 0

    async def _say_no_credit(self, chain: "Chain", asset: "Asset", beneficiary: bytes) -> str:
        sentence = f"nothing of {asset.symbol or asset.id} is credited to the beneficiary on {chain.name}, though nothing fails there"
        try:
            deposit = await existential_deposit(self.clients(chain), asset)
            held = await free_balance(self.clients(chain), asset, beneficiary)
        except Unproven:
            return sentence
        if self.computed is not None and self.computed.value < deposit and not held:
            return f"{self.computed} would arrive, below the existential deposit of {_amount(asset, deposit)} on {chain.name}, where the beneficiary holds none yet: it would be lost without a trace"
        return sentence

    def step(self, chain: "Chain", what: str, asset: "Asset", value: int) -> Step:
        return Step(chain=chain.name, what=what, amount=_amount(asset, value))


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


def _say_failure(hop: Hop) -> str:
    if hop.message is None:
        return hop.failure
    return f"{hop.failure}; what was sent would be trapped or lost there"


def _inner_failure(hop: Hop) -> str:
    """Return what failed inside a call that succeeded as a whole; empty where nothing did."""
    for event in hop.events:
        fields = event.fields
        result = fields.get("result") if isinstance(fields, Mapping) else None
        outcome = fields.get("outcome") if isinstance(fields, Mapping) else None
        if (
            str(event) in _FAILURES
            or (isinstance(result, Mapping) and "Err" in result)
            or (event.name == "Attempted" and isinstance(outcome, Mapping) and "Complete" not in outcome)
        ):
            return f"{hop.chain.name} takes the call, and a part of it fails ({event})"
    return ""


def _deposit_accounts(message: Message) -> list[bytes]:
    accounts: list[bytes] = []
    for name, fields in message.instructions:
        if name == "DepositAsset":
            location = fields["beneficiary"]
            inner = location["interior"].get("X1") if isinstance(location["interior"], Mapping) else None
            junction = inner[0] if isinstance(inner, list) else inner
            if isinstance(junction, Mapping) and "AccountId32" in junction and not location["parents"]:
                accounts.append(junction["AccountId32"]["id"])
    return accounts


def _para_name(chain: "Chain") -> str:
    return "" if chain.role == "relay" else f"Parachain({chain.para_id})"


def _amount(asset: "Asset", value: int) -> Amount:
    return Amount(value=value, asset=asset.symbol or asset.id, decimals=asset.decimals)
