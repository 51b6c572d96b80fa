"""One transaction that is tried, and the ledger of each chain that it reaches."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import write_location
from scenarioctl.chains.trust import is_beyond_bridge
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.inner_calls import InnerCall
from scenarioctl.transactions.keyless_accounts import kind_of
from scenarioctl.transactions.simulation.arrival import (
    delivery_fees,
    execution_fees,
    program_fees,
    query_weight,
)
from scenarioctl.transactions.simulation.dry_run import DryRunResult
from scenarioctl.transactions.simulation.ledger import (
    BalanceChange,
    HopFee,
    HopLedger,
    LedgerEntry,
    identify,
    read_balance_changes,
)
from scenarioctl.transactions.simulation.runtime_api import (
    Clients,
    Findings,
    Inconclusive,
    native_balance,
)
from scenarioctl.transactions.transfer.request import sovereign_account_beyond
from scenarioctl.transactions.xcm_instructions import read_instruction

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.fees import FeeCharge, Left
    from scenarioctl.transactions.transfer.request import Transfer
    from scenarioctl.transactions.xcm_instructions import Instruction


@dataclass(kw_only=True)
class Trial:
    """One transaction, what it does on every chain, and what is found of that."""

    clients: "Clients"
    assets: "Assets"
    chain: "Chain"
    sender: bytes
    call: "Call"
    #: None if the call is not known to make one.
    transfer: "Transfer | None" = None
    #: What leaves with a transfer to pay the fee on the way: an asset of the source, and the raw
    #: amount.
    beside: "tuple[Asset, int] | None" = None
    #: What the transaction names to pay its own fee; None for nothing.
    fee_asset: "Asset | None" = None
    #: The signer has confirmed receivers that nobody holds the key of, and swaps at any price.
    confirmed: bool = False
    findings: Findings = field(default_factory=Findings)
    hops: list[DryRunResult] = field(default_factory=list)
    ledgers: list[HopLedger] = field(default_factory=list)
    #: Every call of the transaction, and every instruction of its programs and messages.
    calls: Sequence[InnerCall] = ()
    instructions: "Sequence[Instruction]" = ()
    #: XCM programs that it has executed on its own chain.
    programs: Sequence[Mapping[str, Any]] = ()
    #: Accounts that it names, and the chains on which it names places that are no accounts.
    named: frozenset[bytes] = frozenset()
    named_on: frozenset[str] = frozenset()
    #: The fee that is taken before the call, if one can be; and whose money the call may hold.
    charge: "FeeCharge | None" = None
    watched: tuple[bytes, ...] = ()
    #: The signatories of a multisig make it later, once all approve.
    pending: bool = False
    #: What arrives, as the last chain credits it, if that is an asset that is not listed there.
    recognized: "Asset | None" = None

    def __post_init__(self) -> None:
        self.chain.account_format.check(self.sender, chain=self.chain.title, field="sender")

    @property
    def beneficiary(self) -> bytes | None:
        """The receiver that the caller named; None for a call that is not known to be a
        transfer."""
        return None if self.transfer is None else self.transfer.beneficiary

    @property
    def failed(self) -> bool:
        return any(hop.failure or hop.unknown for hop in self.hops)

    def names(self, account: bytes, chain: "Chain") -> bool:
        """Tell whether the transaction names *account*, or may do so by a place on *chain*."""
        return account in self.named or chain.name in self.named_on

    def fee_of(self, account: bytes, asset: Asset) -> int:
        """Return how much of *asset* the fee takes from *account* before the call, raw."""
        charge = self.charge
        if charge is None or (charge.sender, charge.currency.asset) != (account, asset):
            return 0
        return charge.amount

    async def table(self) -> "RuntimeTable":
        return await self.clients(self.chain).table()


#: Events of a pool's liquidity -> how they name what the pool gets, or gives if negative.
_LIQUIDITY = {
    "LiquidityAdded": (("amount1_provided", "amount2_provided"), 1),
    "LiquidityRemoved": (("amount1", "amount2"), -1),
}
#: Pallets' accounts that people know by another name.
_PALLET_ACCOUNTS = {
    "py/trsry": "treasury",
    "py/xcmch": "teleports' checking account",
    "PotStake": "collators' pot",
    "omnipool": "Omnipool",
}


async def read_ledger(trial: "Trial", hop: "DryRunResult") -> HopLedger:
    """Return the ledger of *hop*, a chain of *trial*."""
    changes = [
        _recognize(each, trial.recognized)
        for each in read_balance_changes(hop.events, hop.chain, trial.assets)
    ]
    for account, left in hop.left.items():
        await _settle(trial, changes, account, left)
    found = HopLedger(hop=hop, entries=())
    try:
        found = await _with_fees(trial, found)
    except Inconclusive as error:
        found = replace(found, fees_problem=str(error))
    market = markets(hop.events, changes)
    persons = {trial.beneficiary: "the beneficiary", trial.sender: "the sender"}
    entries = []
    for change in changes:
        identity, person = identify(change.asset, hop.chain), persons.get(change.account, "")
        role = "" if person else _role(trial, change, identity, found, market)
        system = bool(role) and not trial.names(change.account, hop.chain)
        entries.append(
            LedgerEntry(**vars(change), identity=identity, role=person or role, system=system)
        )
    return replace(found, entries=entries)


async def _settle(
    trial: "Trial", changes: list[BalanceChange], account: bytes, left: "Left"
) -> None:
    """Let *changes* tell what is held and locked of *account*, as what it has *left* shows."""
    native = trial.assets.native(trial.chain)
    same = [each for each in changes if (each.account, each.asset) == (account, native)]
    told = same[0] if same else BalanceChange(account=account, asset=native, value=0)
    before = await native_balance(trial.clients(trial.chain), account)
    held = left.reserved - before.reserved
    free = before.free + told.value - held - trial.fee_of(account, native)
    # What is held counts towards what is locked.
    frozen = max(before.locked - left.reserved, 0)
    locked = max(free - frozen, 0) - left.spendable
    if 0 < locked <= before.existential_deposit - frozen:
        # It may be the existential deposit, which stays if something needs the account.
        locked = told.locked_beside
    locked += max(held, 0) if locked > 0 else 0
    changes[:] = [each for each in changes if each is not told]
    if told.value or told.taken or held or locked:
        changes.append(replace(told, held=held, locked=locked))


async def _with_fees(trial: "Trial", ledger: HopLedger) -> HopLedger:
    """Return *ledger* with what its chain takes for executing programs and delivering messages."""
    hop, message = ledger.hop, ledger.hop.message
    client = trial.clients(hop.chain)
    fees: list[HopFee] = []
    weight = None
    if message is None:
        for program in () if hop.failure else trial.programs:
            fees += await program_fees(client, program)
    elif message.destination is not None:
        weight = await query_weight(client, message.data)
        fees += await execution_fees(client, message, weight)
    for onward in hop.sent:
        fees += await delivery_fees(client, onward)
    return replace(ledger, fees=fees, weight=weight)


def _recognize(change: BalanceChange, known: "Asset | None") -> BalanceChange:
    asset = change.asset
    if known is None or (asset.chain, asset.kind, asset.id) != (known.chain, known.kind, known.id):
        return change
    return replace(change, asset=known)


def _role(
    trial: "Trial",
    change: BalanceChange,
    identity: str,
    ledger: HopLedger,
    market: Mapping[bytes, str],
) -> str:
    """Return what the chain of *ledger* has an account for; empty where it is not one of the
    chain's own."""
    account = change.account
    role = _own_role(account, ledger.hop.chain, trial.assets.registry)
    if role or account in trial.named:
        return role
    due = [fee for fee in ledger.fees if fee.identity == identity]
    taken = {sum(fee.amount for fee in due): "execution and delivery"}
    for what in ("execution", "delivery"):
        alike = [fee.amount for fee in due if fee.what == what]
        taken |= dict.fromkeys((*alike, sum(alike)), what)
    is_fee = change.value > 0 and change.value in taken
    return market.get(account) or (f"gets the {taken[change.value]} fee" if is_fee else "")


def _own_role(account: bytes, chain: "Chain", registry: "Registry") -> str:
    """Return which account of the chain's own, by its bytes, *account* is; empty if it is none."""
    kind = kind_of(account)
    if kind.name == "pallet" and not any(account[12:]):
        return _PALLET_ACCOUNTS.get(kind.id, f"account of the pallet {kind.id}")
    if kind.name == "parachain":
        known = registry.parachain(chain, int(kind.id))
        return f"sovereign account of {f'parachain {kind.id}' if known is None else known.title}"
    for other in registry.all():
        if is_beyond_bridge(other, chain, registry) and account == sovereign_account_beyond(other):
            return f"sovereign account of {other.title}"
    return ""


def markets(events: "Sequence[Event]", changes: Sequence[BalanceChange]) -> dict[bytes, str]:
    """Return the accounts that give one asset for another in a trade, and what they are called.

    Hydration names them.  An Asset Hub tells the amounts of a trade only: the account that gets and
    gives exactly these is its pool.
    """
    found: dict[bytes, str] = {}
    traded: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for event in events:
        fields = event.fields
        if event.pallet == "Broadcast" and isinstance(fields, Mapping) and "filler" in fields:
            is_offer = read_instruction(fields.get("filler_type"))[0] == "OTC"
            found[fields["filler"]] = "maker of the offer" if is_offer else "pool"
        elif event.pallet == "AssetConversion" and event.name.startswith("Swap"):
            for (paid, much), (given, more) in zip(
                fields["path"], fields["path"][1:], strict=False
            ):
                sums = traded[write_location(paid), write_location(given)]
                sums[0] += much
                sums[1] -= more
        elif event.pallet == "AssetConversion" and event.name in _LIQUIDITY:
            names, sign = _LIQUIDITY[event.name]
            traded[str(fields["pool_id"]), event.name] = [sign * fields[name] for name in names]
    values: dict[bytes, set[int]] = defaultdict(set)
    for change in changes:
        values[change.account].add(change.value)
    for much, more in traded.values():
        found |= {account: "pool" for account, moved in values.items() if {much, more} <= moved}
    return found
