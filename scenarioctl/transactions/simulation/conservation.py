"""Nothing gets lost unseen: what leaves accounts is what those get whom the call names.

One sum for each asset on each chain, to the unit.  A chain either credits a fee to somebody or
destroys it, so each fee may be missing, whole; each is rounded once, which is a unit for each.  A
program that refunds a surplus may pay less than the fee.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import across, split_account
from scenarioctl.model.checks import Amount, Holding, Step
from scenarioctl.transactions.blocks import EXPECTED, tells_failure
from scenarioctl.transactions.inner_calls import may_hold
from scenarioctl.transactions.keyless_accounts import describe_keyless
from scenarioctl.transactions.simulation.arrival import fungible_items, incoming_assets
from scenarioctl.transactions.simulation.ledger import (
    bound_amount,
    identify,
    paid_for_delivery,
    read_dust,
    unread_events,
)
from scenarioctl.transactions.simulation.runtime_api import (
    amount_at,
    amount_of,
    asset_at,
    read_table,
)
from scenarioctl.transactions.xcm_instructions import brought_items, kind_of

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.ledger import HopLedger, LedgerEntry
    from scenarioctl.transactions.simulation.trial import Trial
    from scenarioctl.transactions.xcm_instructions import Instruction


def list_holdings(trial: "Trial") -> None:
    """Name every account that loses or gets something; what leaves the sender is a step, if no
    transfer says it."""
    findings = trial.findings
    for ledger in trial.ledgers:
        hop = ledger.hop
        delivery = _delivery(trial, ledger) if hop.message is None else {}
        for entry in ledger.entries:
            value = entry.value
            is_sender = entry.account == trial.sender
            if value < 0 and is_sender:
                value += delivery.get(entry.identity, 0)
            if value < 0 and not entry.system:
                left = _holding(hop, entry, -value)
                findings.leaves.append(left)
                if is_sender and hop.message is None and trial.transfer is None:
                    findings.steps.append(Step(chain=left.chain, what="leaves", amount=left.amount))
            if value > 0:
                findings.credits.append(_holding(hop, entry, value))


def _delivery(trial: "Trial", ledger: "HopLedger") -> Mapping[str, int]:
    """Return what the sender pays for delivery out of the account, which a step of its own says."""
    if any(
        each.name == "SetFeesMode" and each.fields["jit_withdraw"] for each in trial.instructions
    ):
        # The account pays it, and no event says that it is for this.
        return {fee.identity: fee.amount for fee in ledger.fees if fee.what == "delivery"}
    return paid_for_delivery(ledger.hop.events, trial.sender, ledger.hop.chain)


def check_strangers(trial: "Trial") -> None:
    """Object to what goes to somebody whom nobody named: of a transfer, to anybody but its
    beneficiary."""
    for ledger in trial.ledgers:
        chain = ledger.hop.chain
        losing = {entry.identity for entry in ledger.entries if entry.value < 0}
        for entry in ledger.received():
            account = entry.account
            if account in (trial.sender, trial.beneficiary):
                continue
            said = (
                f"{amount_of(entry.asset, entry.value)} would go to "
                f"{format_account(account, chain.ss58_prefix)} on {chain.title}, an account that "
                "the"
            )
            if trial.transfer is not None:
                trial.findings.refusals.append(f"{said} transfer does not name")
            elif (
                account not in trial.named
                and not (entry.role and chain.name in trial.named_on)
                # What is made for somebody, like a reward, costs nobody anything.
                and (ledger.hop.message is not None or entry.identity in losing)
            ):
                trial.findings.unknowns.append(f"{said} transaction does not name")


def warn_of_losses(trial: "Trial") -> None:
    """Say what leaves others than the sender."""
    for holding in trial.findings.leaves:
        where = trial.assets.registry.title_of(holding.chain)
        if holding.role == "the beneficiary":
            told = f"leaves the beneficiary {holding.account} on {where}"
        elif holding.role != "the sender":
            told = f"leaves {holding.account} on {where}, which is not the sender"
        else:
            continue
        trial.findings.losses.append(f"{holding.amount} {told}")


async def check_kept(trial: "Trial") -> None:
    """Say what accounts can no longer spend of theirs, or can again, and refuse what a receiver
    can't spend."""
    for ledger in trial.ledgers:
        hop, chain = ledger.hop, ledger.hop.chain
        for found in () if hop.message or hop.failure or hop.unknown else trial.calls:
            call = found.call
            if found.runs and may_hold(call) and found.account not in hop.left:
                trial.findings.unknowns.append(
                    f"{call.pallet}.{call.method} may hold or lock money on {chain.title}, and how "
                    "much isn't told"
                )
        acting = {trial.sender, trial.beneficiary, *hop.left}
        for entry in ledger.entries:
            # Like who collects a pool's fees; `check_strangers` tells of it.
            is_told = entry.account in acting or trial.names(entry.account, chain)
            if entry.system or not is_told:
                continue
            if entry.value > 0 and entry.kept and entry.account not in hop.left:
                await _check_arrived(trial, hop, entry)
                continue
            for is_lock, change in enumerate((entry.held, entry.locked_beside)):
                if change:
                    _say_move(trial, chain, entry, change, is_lock=bool(is_lock))


def _say_move(
    trial: "Trial", chain: "Chain", entry: "LedgerEntry", change: int, *, is_lock: bool
) -> None:
    """Tell what is held or locked of an account, or comes free; the sender's deposits are steps
    alone."""
    amount = amount_of(entry.asset, abs(change))
    own = entry.account == trial.sender and not trial.pending
    whose = "the sender" if own else format_account(entry.account, chain.ss58_prefix)
    what = "released" if change < 0 else "locked" if is_lock else "deposit"
    if own:
        trial.findings.steps.append(Step(chain=chain.name, what=what, amount=amount))
    if not own or what == "locked":
        done = {"released": "comes free", "locked": "is locked", "deposit": "is held"}[what]
        told = trial.findings.losses if change > 0 else trial.findings.warnings
        told.append(f"{amount} of {whose} {done} on {chain.title}")


def warn_of_bound(trial: "Trial") -> None:
    """Tell of amounts of the sender that no balance shows: a runtime may lock them in silence."""
    for ledger in trial.ledgers:
        chain = ledger.hop.chain
        own = [entry for entry in ledger.entries if entry.account == trial.sender]
        shown = {
            amount
            for each in own
            for amount in (abs(each.value), each.taken, each.held, each.locked)
        }
        for event in ledger.hop.events:
            amount = bound_amount(event, trial.sender)
            if amount and amount not in shown:
                told = amount_of(trial.assets.native(chain), amount)
                trial.findings.losses.append(
                    f"{event} tells of {told} of the sender on {chain.title}, and no "
                    "balance changes by it: it may be locked there"
                )


async def _check_arrived(trial: "Trial", hop: "DryRunResult", entry: "LedgerEntry") -> None:
    kept = min(entry.kept, entry.value)
    free, locked, all_of_it = (
        amount_of(entry.asset, value) for value in (entry.value - kept, kept, entry.value)
    )
    trial.findings.refusals.append(
        f"{format_account(entry.account, hop.chain.ss58_prefix)} can spend only {free} of the "
        f"{all_of_it} that arrives on {hop.chain.title}: {locked} is locked there, for instance by "
        "a deposit limit; without a check it is built all the same"
    )


def _holding(hop: "DryRunResult", entry: "LedgerEntry", value: int) -> Holding:
    return Holding(
        chain=hop.chain.name,
        account=format_account(entry.account, hop.chain.ss58_prefix),
        amount=amount_of(entry.asset, value),
        role=entry.role,
        system=entry.system,
    )


async def check_keyless_receivers(trial: "Trial") -> None:
    """Refuse what is given to a receiver that loses it, of the accounts that the transaction names.

    If nobody is known to hold the key of the receiver that the caller named, that was confirmed
    before.
    """
    findings, transfer = trial.findings, trial.transfer
    confirmed = (
        transfer.beneficiary
        if transfer and describe_keyless(transfer.beneficiary, transfer.destination)
        else None
    )
    for ledger in trial.ledgers:
        chain = ledger.hop.chain
        for entry in ledger.received():
            table = await read_table(trial.clients(chain))
            account, keyless = entry.account, describe_keyless(entry.account, chain, table)
            # A program may name it by its place.
            is_place = chain.name in trial.named_on and entry.role.startswith("sovereign")
            if keyless and (is_place or account in trial.named) and account != confirmed:
                said = (
                    f"the receiver {format_account(account, chain.ss58_prefix)} on "
                    f"{chain.title} is {keyless}"
                )
                if trial.confirmed:
                    findings.losses.append(said)
                else:
                    findings.refusals.append(
                        f"{said}; to send it all the same, confirm it with `yes`"
                    )
    for instruction in trial.instructions:
        destination = instruction.chain
        if destination is None or instruction.name != "DepositAsset":
            continue
        place, receiver = split_account(instruction.fields["beneficiary"])
        if place != "0/Here" or receiver is None:
            continue
        length = destination.account_format.length
        if length < len(receiver):
            # Some turn it into an account that nobody has the key of.
            findings.refusals.append(
                f"the receiver {format_account(receiver, 0)} is an account of "
                f"{len(receiver)} bytes, and those of {destination.title} have {length}: "
                "what it gets is lost"
            )


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
        if message is None:
            return self._sums(-1, Counter())
        withdrawn = incoming_assets(message, only="WithdrawAsset")
        # What a program withdraws from an account, events tell too.
        told: Counter[str] = Counter()
        for each in self.ledger.entries:
            told[each.identity] += 0 if each.is_mirror else max(-each.value, 0)
        return self._sums(-1, incoming_assets(message) - (withdrawn & told))

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
        for event in self.ledger.hop.events:
            if str(event) == "AssetConversion.LiquidityRemoved":
                # The pool takes back its shares for what it gives.
                share = f"{self.chain.title}: pool share {event.fields['lp_token']}"
                sums[share] += event.fields["lp_token_burned"]
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


async def check_inner_failures(trial: "Trial") -> None:
    """Refuse a call of which the events on its own chain tell that a part failed."""
    table = await trial.table()
    for event in trial.hops[0].events:
        if str(event) not in EXPECTED and tells_failure(event, table):
            trial.findings.refusals.append(
                f"{trial.chain.title} accepts the call, but a part of it fails ({event})"
            )
            return
