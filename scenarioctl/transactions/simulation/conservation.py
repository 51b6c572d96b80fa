"""Nothing gets lost unseen: what leaves accounts or reaches a chain must be what somebody gets there, what goes on, and what is taken.

One sum for each asset on each chain, to the unit.  A chain either credits a fee to somebody or destroys it, so each fee may be
missing, whole; each is rounded once, which is a unit for each.  A program that refunds a surplus may pay less than the fee.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import across, seen_from
from scenarioctl.model.checks import Amount
from scenarioctl.transactions.simulation.arrival import fungible_items, incoming_assets
from scenarioctl.transactions.simulation.balance_changes import read_dust, unread_events
from scenarioctl.transactions.simulation.findings import Findings, amount_of, asset_at
from scenarioctl.transactions.simulation.ledger import identify
from scenarioctl.transactions.xcm_instructions import brought_items, kind_of
from scenarioctl.transactions.xcm_programs import XCM_PALLETS

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.inner_calls import InnerCall
    from scenarioctl.transactions.simulation.ledger import HopLedger
    from scenarioctl.transactions.xcm_programs import Instruction

#: Fees of one chain that are combined; more are only added up.
_MOST_FEES = 8
#: (pallet, call) -> the arguments that name the asset ("" for the native one) and how much of it is destroyed.
_BURNS = {
    ("Balances", "burn"): ("", "value"),
    ("Assets", "burn"): ("id", "amount"),
    ("ForeignAssets", "burn"): ("id", "amount"),
}


def check_conservation(
    findings: Findings,
    ledgers: "Sequence[HopLedger]",
    assets: "Assets",
    *,
    calls: "Sequence[InnerCall]",
    instructions: "Sequence[Instruction]",
) -> None:
    """Say what is destroyed, and leave open what cannot be accounted for."""
    for number, ledger in enumerate(ledgers):
        hop = ledger.hop
        if hop.failure or hop.unknown:
            continue
        for event in unread_events(hop.events):
            findings.unknowns.append(
                f"{hop.chain.name} tells of {event}, and what that moves is not known here"
            )
        here = [each for each in instructions if each.chain == hop.chain]
        if any(
            "Fungible" not in item["fun"] for item in brought_items((each.name, each.fields) for each in here)
        ):
            findings.unknowns.append(
                f"items that are not fungible move on {hop.chain.name}, and are not followed"
            )
        destroyed = _destroyed_by_programs(here)
        if not number:
            destroyed += _destroyed_by_calls(calls, assets, hop.chain)
        refunds = any(each.name == "RefundSurplus" for each in here)
        _Balance(findings, ledger, assets, destroyed, refunds=refunds).check()


class _Balance:
    """The sums of one chain."""

    def __init__(
        self,
        findings: Findings,
        ledger: "HopLedger",
        assets: "Assets",
        destroyed: Mapping[str, int],
        *,
        refunds: bool,
    ) -> None:
        self.findings = findings
        self.ledger = ledger
        self.assets = assets
        self.chain = ledger.hop.chain
        #: What calls and programs say that they destroy, at most, by the identity of the asset.
        self.destroyed = destroyed
        self.refunds = refunds

    def check(self) -> None:
        coming, going = self._coming(), self._going()
        rests = {identity: coming[identity] - going.get(identity, 0) for identity in coming}
        surplus = {identity: -rest for identity, rest in rests.items() if rest < 0}
        surplus |= {identity: value for identity, value in going.items() if identity not in coming}
        for identity, rest in rests.items():
            left = self._after_fees(identity, rest)
            if left <= self._rounding(identity) or self._is_renamed(identity, left, surplus):
                continue
            burned = min(left, self.destroyed.get(identity, 0))
            if burned:
                self._destroys(identity, burned)
            left -= burned
            if left > self._rounding(identity):
                self._unaccounted(identity, left)

    def _coming(self) -> dict[str, int]:
        """Return what leaves accounts here or is brought; what backs it on this chain counts once."""
        sums, mirrored = self._sums(lambda value: -value)
        brought: dict[str, int] = defaultdict(int)
        for identity, amount in (
            () if self.ledger.hop.message is None else incoming_assets(self.ledger.hop.message)
        ):
            brought[identity] += amount
        for identity in {*brought, *mirrored}:
            sums[identity] += max(brought[identity], mirrored[identity])
        return sums

    def _going(self) -> dict[str, int]:
        """Return what accounts get, what goes on to other chains, and what is trapped; backing that stays counts once."""
        sums, mirrored = self._sums(lambda value: value)
        onward: dict[str, int] = defaultdict(int)
        for message in self.ledger.hop.sent:
            # Beyond a bridge, a message names an asset as seen from there.
            there = self.chain if message.destination is None else message.destination
            for identity, amount in incoming_assets(message):
                onward[across(identity, there.consensus, self.chain.consensus)] += amount
        for identity in {*onward, *mirrored}:
            sums[identity] += max(onward[identity], mirrored[identity])
        # Both are told for themselves.
        for event in self.ledger.hop.events:
            if event.pallet in XCM_PALLETS and event.name == "AssetsTrapped":
                for identity, amount in fungible_items(
                    next(iter(event.fields["assets"].values())), self.chain.para_id
                ):
                    sums[identity] += amount
        for change in read_dust(self.ledger.hop.events, self.chain, self.assets, destroyed=True):
            sums[identify(change.asset, self.chain)] += change.value
        return sums

    def _sums(self, side: Any) -> tuple[dict[str, int], dict[str, int]]:
        sums: dict[str, int] = defaultdict(int)
        mirrored: dict[str, int] = defaultdict(int)
        for entry in self.ledger.entries:
            value = side(entry.change.value)
            if value > 0:
                (mirrored if entry.party.is_mirror else sums)[entry.identity] += value
        return sums, mirrored

    def _fees(self, identity: str) -> list[int]:
        return [fee.amount for fee in self.ledger.fees if fee.identity == identity and fee.amount]

    def _rounding(self, identity: str) -> int:
        return len(self._fees(identity))

    def _after_fees(self, identity: str, rest: int) -> int:
        """Return what is missing beside fees: of all fees that may be, those that leave the least to explain."""
        fees = self._fees(identity)
        if rest <= 0 or (self.refunds and rest <= sum(fees)):
            return 0
        counts = range(len(fees) + 1) if len(fees) <= _MOST_FEES else (0, len(fees))
        sums = {sum(each) for count in counts for each in combinations(fees, count)}
        rounding = len(fees)
        lefts = [rest - taken for taken in sums if rest - taken >= -rounding]
        declared = self.destroyed.get(identity, 0)
        return max(min(lefts, key=lambda left: (min(abs(left), abs(left - declared)), left)), 0)

    def _is_renamed(self, identity: str, left: int, surplus: Mapping[str, int]) -> bool:
        """Tell whether what is missing is what somebody gets under an id that is not known here, to the unit."""
        unplaced = [value for each, value in surplus.items() if each.startswith(f"{self.chain.name}: ")]
        return asset_at(self.assets, self.chain, identity) is None and unplaced == [left]

    def _destroys(self, identity: str, value: int) -> None:
        amount = self._amount(identity, value)
        self.findings.lose(self.chain, "destroyed", amount, f"destroys {amount} on {self.chain.name}")

    def _unaccounted(self, identity: str, value: int) -> None:
        where = "reaches" if self.ledger.hop.message is not None else "leaves accounts on"
        why = f", and the fees taken from it could not be computed: {self.ledger.fees_problem}"
        self.findings.unknowns.append(
            f"{self._amount(identity, value)} that {where} {self.chain.name} is credited to nobody"
            f"{why if self.ledger.fees_problem else ': it may be lost'}"
        )

    def _amount(self, identity: str, value: int) -> Amount:
        asset = asset_at(self.assets, self.chain, identity)
        if asset is not None:
            return amount_of(asset, value)
        for entry in self.ledger.entries:
            if entry.identity == identity:
                return amount_of(entry.change.asset, value)
        # The relay chain's own asset has no name but its place.
        return Amount(value=value, asset=identity or seen_from(identity, self.chain.para_id))


def _destroyed_by_calls(calls: "Sequence[InnerCall]", assets: "Assets", chain: "Chain") -> "Counter[str]":
    sums: Counter[str] = Counter()
    for found in calls:
        naming, much = _BURNS.get((found.call.pallet, found.call.method), ("", ""))
        if not much or not found.runs:
            continue
        asset = assets.named(chain, found.call.args[naming]) if naming else assets.native(chain)
        if asset is not None:
            sums[identify(asset, chain)] += int(found.call.args[much])
    return sums


def _destroyed_by_programs(instructions: "Sequence[Instruction]") -> "Counter[str]":
    sums: Counter[str] = Counter()
    for instruction in instructions:
        if kind_of(instruction.name).destroys and instruction.chain is not None:
            for identity, amount in fungible_items(instruction.fields, instruction.chain.para_id):
                sums[identity] += amount
    return sums
