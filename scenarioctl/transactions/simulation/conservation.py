"""Nothing gets lost unseen: what leaves accounts or reaches a chain must be what somebody gets
there, what goes on, and what is taken.

One sum for each asset on each chain, to the unit.  A chain either credits a fee to somebody or
destroys it, so each fee may be missing, whole; each is rounded once, which is a unit for each.  A
program that refunds a surplus may pay less than the fee.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import across
from scenarioctl.model.checks import Amount
from scenarioctl.transactions.simulation.arrival import fungible_items, incoming_assets
from scenarioctl.transactions.simulation.findings import amount_at, amount_of, asset_at
from scenarioctl.transactions.simulation.ledger import identify, read_dust, unread_events
from scenarioctl.transactions.xcm_instructions import brought_items, kind_of

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.ledger import HopLedger
    from scenarioctl.transactions.simulation.trial import Trial
    from scenarioctl.transactions.xcm_instructions import Instruction

#: Fees of one chain that are combined; more are only added up.
_MOST_FEES = 8
#: (pallet, call) -> the arguments that name the asset ("" for the native one) and how much of it is
#: destroyed.
_BURNS = {
    ("Balances", "burn"): ("", "value"),
    ("Assets", "burn"): ("id", "amount"),
    ("ForeignAssets", "burn"): ("id", "amount"),
}


def check_conservation(trial: "Trial") -> None:
    """Say what is destroyed, and leave open what cannot be accounted for."""
    for number, ledger in enumerate(trial.ledgers):
        hop = ledger.hop
        if hop.failure or hop.unknown:
            continue
        for event in unread_events(hop.events):
            trial.findings.unknowns.append(
                f"{hop.chain.title} tells of {event}, and what that moves is not known here"
            )
        here = [each for each in trial.instructions if each.chain == hop.chain]
        if any(
            "Fungible" not in item["fun"]
            for item in brought_items((each.name, each.fields) for each in here)
        ):
            trial.findings.unknowns.append(
                f"items that are not fungible move on {hop.chain.title}, and are not followed"
            )
        destroyed = _destroyed_by_programs(here)
        if not number:
            destroyed += _destroyed_by_calls(trial)
        refunds = any(each.name == "RefundSurplus" for each in here)
        _Balance(trial, ledger, destroyed, refunds=refunds).check()


class _Balance:
    """The sums of one chain."""

    def __init__(
        self, trial: "Trial", ledger: "HopLedger", destroyed: Mapping[str, int], *, refunds: bool
    ) -> None:
        self.trial = trial
        self.ledger = ledger
        self.chain = ledger.hop.chain
        #: What calls and programs say that they destroy, at most, by the identity of the asset.
        self.destroyed = destroyed
        self.refunds = refunds

    def check(self) -> None:
        coming, going = self._coming(), self._going()
        self._rename(coming, going)
        for identity, rest in (coming - going).items():
            fees = [
                fee.amount for fee in self.ledger.fees if fee.identity == identity and fee.amount
            ]
            declared = self.destroyed.get(identity, 0)
            left = self._after_fees(fees, rest, declared)
            # Each is rounded once.
            if left <= len(fees):
                continue
            burned = min(left, declared)
            if burned:
                amount = self._amount(identity, burned)
                said = f"destroys {amount} on {self.chain.title}"
                self.trial.findings.lose(self.chain, "destroyed", amount, said)
            if left - burned > len(fees):
                self._unaccounted(identity, left - burned)

    def _coming(self) -> "Counter[str]":
        """Return what leaves accounts here or is brought."""
        message = self.ledger.hop.message
        return self._sums(-1, Counter() if message is None else incoming_assets(message))

    def _going(self) -> "Counter[str]":
        """Return what accounts get, what goes on to other chains, and what the chain takes as dust
        for nobody."""
        onward: Counter[str] = Counter()
        for message in self.ledger.hop.sent:
            # Beyond a bridge, a message names an asset as seen from there.
            there = self.chain if message.destination is None else message.destination
            for identity, amount in incoming_assets(message).items():
                onward[across(identity, there.consensus, self.chain.consensus)] += amount
        sums = self._sums(1, onward)
        for change in read_dust(
            self.ledger.hop.events, self.chain, self.trial.assets, destroyed=True
        ):
            sums[identify(change.asset, self.chain)] += change.value
        return sums

    def _sums(self, sign: int, carried: "Counter[str]") -> "Counter[str]":
        """Return what accounts get, or lose, and what messages have *carried*; what backs that on
        this chain counts once."""
        sums: Counter[str] = Counter()
        mirrored: Counter[str] = Counter()
        for entry in self.ledger.entries:
            (mirrored if entry.is_mirror else sums)[entry.identity] += max(sign * entry.value, 0)
        return sums + (carried | mirrored)

    def _after_fees(self, fees: Sequence[int], rest: int, declared: int) -> int:
        """Return what is missing beside *fees*: of all that may be taken, those that leave the
        least to explain."""
        if self.refunds and rest <= sum(fees):
            return 0
        counts = range(len(fees) + 1) if len(fees) <= _MOST_FEES else (0, len(fees))
        sums = {sum(each) for count in counts for each in combinations(fees, count)}
        lefts = [rest - taken for taken in sums if rest - taken >= -len(fees)]
        return max(min(lefts, key=lambda left: (min(abs(left), abs(left - declared)), left)), 0)

    def _rename(self, coming: "Counter[str]", going: "Counter[str]") -> None:
        """Count as one asset what only an id of the chain names, and what is listed at no id here:
        if one of each is open.

        Nobody may get more of it than comes, and what is missing is accounted for like that of any
        other.
        """
        left = {
            each: coming[each] - going[each]
            for each in {*coming, *going}
            if coming[each] != going[each]
        }
        by_id = [each for each in left if each.startswith(f"{self.chain.title}: ")]
        by_place = [
            each
            for each in {*left} - {*by_id}
            if asset_at(self.trial.assets, self.chain, each) is None
        ]
        if len(by_id) == len(by_place) == 1 and left[by_id[0]] + left[by_place[0]] >= 0:
            for sums in (coming, going):
                sums[by_place[0]] += sums.pop(by_id[0], 0)

    def _unaccounted(self, identity: str, value: int) -> None:
        where = "reaches" if self.ledger.hop.message is not None else "leaves accounts on"
        why = f", and the fees taken from it could not be computed: {self.ledger.fees_problem}"
        self.trial.findings.unknowns.append(
            f"{self._amount(identity, value)} that {where} {self.chain.title} is credited to nobody"
            f"{why if self.ledger.fees_problem else ': it may be lost'}"
        )

    def _amount(self, identity: str, value: int) -> Amount:
        for entry in self.ledger.entries:
            if entry.identity == identity:
                return amount_of(entry.asset, value)
        return amount_at(self.trial.assets, self.chain, identity, value)


def _destroyed_by_calls(trial: "Trial") -> "Counter[str]":
    sums: Counter[str] = Counter()
    for found in trial.calls:
        naming, much = _BURNS.get((found.call.pallet, found.call.method), ("", ""))
        if not much or not found.runs:
            continue
        assets = trial.assets
        asset = (
            assets.named(trial.chain, found.call.args[naming])
            if naming
            else assets.native(trial.chain)
        )
        if asset is not None:
            sums[identify(asset, trial.chain)] += int(found.call.args[much])
    return sums


def _destroyed_by_programs(instructions: "Sequence[Instruction]") -> "Counter[str]":
    sums: Counter[str] = Counter()
    for instruction in instructions:
        if (
            kind_of(instruction.name).destroys
            and not instruction.sent_on
            and instruction.chain is not None
        ):
            for identity, amount in fungible_items(instruction.fields, instruction.chain.para_id):
                sums[identity] += amount
    return sums
