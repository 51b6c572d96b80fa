"""A transaction that is tried on its chains: what every rule of the check reads, and where it puts
what it finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import located_accounts
from scenarioctl.transactions.inner_calls import (
    InnerCall,
    local_programs,
    named_accounts,
    walk_calls,
)
from scenarioctl.transactions.keyless_accounts import accounts_of_address
from scenarioctl.transactions.simulation.credits import recognize_credit
from scenarioctl.transactions.simulation.dry_run import DryRunResult, read_programs, trace_call
from scenarioctl.transactions.simulation.findings import Findings
from scenarioctl.transactions.simulation.ledger import HopLedger, read_ledger
from scenarioctl.transactions.simulation.swap_credit import try_trades
from scenarioctl.transactions.xcm_instructions import gives_to_places

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.fee_charge import FeeCharge
    from scenarioctl.transactions.simulation.runtime_api import Clients
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
    #: The signer knows that what arrives can't be spent at first.
    accepts_locked: bool = False
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

    async def table(self) -> "RuntimeTable":
        return await self.clients(self.chain).table()

    async def run(self, charge: "FeeCharge | None" = None, *, too_heavy: str = "") -> None:
        """Follow the call to where it ends, and read what it and its programs do on the way.

        *charge* is the fee that is taken before it.  A call that is *too_heavy* isn't tried: that
        would take the chain as long as it takes no block for.
        """
        registry = self.assets.registry
        table = await self.table()
        self.calls = list(walk_calls(self.call, table, self.sender))
        if too_heavy:
            self.hops = [DryRunResult(chain=self.chain, failure=too_heavy)]
        else:
            self.hops = await try_trades(
                lambda call: trace_call(
                    self.clients, registry, self.chain, call, self.sender, charge=charge
                ),
                self.call,
                self.calls,
                table,
            )
        self.programs = local_programs(self.call, table)
        self.instructions = read_programs(self.programs, self.hops, registry)
        if self.transfer is not None:
            self.recognized = recognize_credit(self.hops, self.transfer, self.assets)
        programs = [hop.message.program for hop in self.hops if hop.message is not None]
        named = {*named_accounts(self.call, table), *located_accounts(programs)}
        named |= {
            each for known in named if len(known) == 20 for each in accounts_of_address(known)
        }
        self.named = frozenset(named)
        self.named_on = gives_to_places(self.instructions)
        self.ledgers = [await read_ledger(self, hop) for hop in self.hops]
