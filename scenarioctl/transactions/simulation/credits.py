"""Whether what is sent arrives: the credit on the last chain, what it should be, and whether the
fee there is paid for sure.

An asset that isn't listed there is told by the id in its events.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, split_account, write_location
from scenarioctl.model.checks import Amount, Step
from scenarioctl.transactions.simulation.arrival import (
    ComputedArrival,
    carried_amount,
    compute_arrival,
    incoming_assets,
)
from scenarioctl.transactions.simulation.ledger import identify, read_balance_changes
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    amount_at,
    amount_of,
    asset_at,
    existential_deposit,
    free_balance,
)
from scenarioctl.transactions.transfer.request import is_bridged
from scenarioctl.transactions.transfer.ways import location_on
from scenarioctl.transactions.xcm_instructions import brought_items, kind_of

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.trial import Trial
    from scenarioctl.transactions.transfer.request import Transfer


def recognize_credit(
    hops: Sequence["DryRunResult"], transfer: "Transfer", assets: "Assets"
) -> "Asset | None":
    """Return the asset as the destination of *transfer* credits it to the beneficiary, if it lists
    no such asset here.

    The last message has to bring that asset alone, and to do nothing but pay and deposit: then what
    the beneficiary is credited with is that asset.  None if there is more than one credit, or if it
    is listed as another asset.
    """
    last, destination = hops[-1], transfer.destination
    message = last.message
    if message is None or last.chain != destination or last.sent or last.failure or last.unknown:
        return None
    if not transfer.asset.location or assets.counterpart(transfer.asset, destination) is not None:
        return None
    location = location_on(transfer, destination)
    if not all(kind_of(name).computed for name, _ in message.instructions):
        return None
    brought = {*incoming_assets(message)}
    if len(list(brought_items(message.instructions))) != 1 or brought != {
        absolute(location, destination.para_id)
    }:
        return None
    credited = [
        move.asset
        for move in read_balance_changes(last.events, destination, assets)
        if move.account == transfer.beneficiary and move.value > 0
    ]
    # Currencies repeats what another pallet reports.
    found = [asset for asset in credited if asset.kind != "erc20"] or credited
    if len(found) != 1 or not _may_be(found[0], transfer.asset, location):
        return None
    (asset,) = found
    if asset.decimals is not None:
        return asset._replace(location=location)
    # Raw amounts are the same on every chain, and so are decimals.
    return asset._replace(
        location=location, symbol=transfer.asset.own_symbol, decimals=transfer.asset.decimals
    )


def _may_be(credited: "Asset", sent: "Asset", location: str) -> bool:
    """Tell whether what is *credited* may be what was *sent*, which the destination sees at
    *location*."""
    if credited.location or credited.kind in ("native", "foreign"):
        return credited.location == location
    if credited.decimals is None:
        return True
    # It is listed without its location.
    return (
        bool(sent.own_symbol)
        and credited.own_symbol.casefold() == sent.own_symbol.casefold()
        and credited.decimals == sent.decimals
    )


async def check_transfer(trial: "Trial", transfer: "Transfer") -> None:
    """Judge the arrival of *transfer*, and of what goes beside it to pay the fee."""
    source, destination = transfer.source, transfer.destination
    is_local = source.name == destination.name
    asset = transfer.asset if is_local else trial.assets.counterpart(transfer.asset, destination)
    asset = asset or trial.recognized
    if asset is None:
        trial.findings.unknowns.append(
            f"{transfer.asset.label} is not listed for {destination.title}, and nothing "
            f"that is credited there is certain to be it: if {destination.title} has it, "
            f"set its id and location in [[chains.{destination.name}.assets]]"
        )
    arrival = None if is_local or asset is None else await _compute(trial)
    ends = _ends_there(trial, transfer)
    sent = [(transfer.asset, transfer.amount, asset)]
    # Over a bridge, what pays stays on the way.
    if trial.beside is not None and not is_bridged(transfer):
        sent.append((*trial.beside, trial.assets.counterpart(trial.beside[0], destination)))
    for number, (left, amount, arriving) in enumerate(sent):
        if arriving is None:
            continue
        # What only pays the fee for others may be used up.
        pays = number > 0
        expected = None
        if not is_local:
            leaving = amount_of(left, amount)
            expected = _expect(trial, destination, arrival, arriving, leaving, pays=pays)
        computed = amount if is_local else expected
        credit, taken = trial.ledgers[-1].credit(transfer.beneficiary, arriving) if ends else (0, 0)
        if not pays:
            trial.findings.computed = None if computed is None else amount_of(arriving, computed)
            trial.findings.credited = amount_of(arriving, credit) if credit else None
        if pays and ends:
            _judge_margin(trial, destination, arriving, amount, arrival, taken)
        _add_steps(trial, destination, arriving, expected, credit, taken)
        if ends:
            await _judge_credit(trial, transfer, arriving, computed, credit, pays=pays)


def _ends_there(trial: "Trial", transfer: "Transfer") -> bool:
    """Tell whether *transfer* ends where it should; refuse one that ends elsewhere."""
    last, wanted = trial.hops[-1].chain, transfer.destination
    if trial.failed:
        return False
    if last.name != wanted.name:
        trial.findings.refusals.append(
            f"the transfer ends on {last.title} instead of {wanted.title}"
        )
    elif transfer.source.name == wanted.name and transfer.beneficiary == trial.sender:
        # Some pallets tell of a transfer even then, others of nothing.
        trial.findings.refusals.append(
            f"the receiver is the sender: nothing would move on {wanted.title}, but the "
            "fee would be paid"
        )
    else:
        return True
    return False


def _expect(
    trial: "Trial",
    chain: "Chain",
    arrival: ComputedArrival | None,
    arriving: "Asset",
    sent: Amount,
    *,
    pays: bool,
) -> int | None:
    """Return how much of what is *sent* should arrive, None if that isn't known; refuse a call
    after which another amount goes on."""
    carried = carried_amount(trial.hops[0].sent, arriving, chain)
    should = f"{sent} should leave {trial.chain.title}{' to pay the fee' if pays else ''}, but"
    if carried == 0:
        trial.findings.unknowns.append(f"{should} none is seen in its message")
    # That it goes where nobody knows is told for itself.
    elif carried is not None and carried != sent.value:
        amount = Amount(value=carried, asset=sent.asset, decimals=sent.decimals)
        trial.findings.refusals.append(f"{should} its message carries {amount}")
    if arrival is None or carried != sent.value:
        return None
    return arrival.assets.get(identify(arriving, chain), 0)


async def _judge_credit(
    trial: "Trial",
    transfer: "Transfer",
    asset: "Asset",
    computed: int | None,
    credit: int,
    *,
    pays: bool,
) -> None:
    """Object if the beneficiary's *credit* isn't what should arrive."""
    chain, unknowns = transfer.destination, trial.findings.unknowns
    expected = None if computed is None else amount_of(asset, computed)
    if not credit and (computed or not pays):
        trial.findings.refusals.append(
            await _say_no_credit(trial, chain, asset, transfer.beneficiary, expected)
        )
    elif not credit and computed is None:
        unknowns.append(
            f"no {asset.display_name} is credited to the beneficiary on {chain.title}, and "
            "whether any should be left could not be computed"
        )
    elif trial.recognized is not None and computed != credit and not pays:
        told = f", but {expected} should arrive" if expected is not None else ""
        unknowns.append(
            f"{chain.title} credits {amount_of(asset, credit)} under an id that is not "
            f"known here{told}: only the amount that is computed to the last unit shows "
            "that it is the asset that was sent"
        )


async def check_deposits(trial: "Trial") -> None:
    """Look for the credit of each account that a last message deposits to."""
    findings = trial.findings
    arrival = await _compute(trial) if any(hop.message for hop in trial.hops) else None
    for ledger in trial.ledgers:
        hop, chain, message = ledger.hop, ledger.hop.chain, ledger.hop.message
        if message is None or hop.sent or hop.failure or hop.unknown:
            continue
        places = [
            split_account(fields["beneficiary"])
            for name, fields in message.instructions
            if name == "DepositAsset"
        ]
        accounts = [
            account
            for place, account in dict.fromkeys(places)
            if place == "0/Here" and account and len(account) == chain.account_format.length
        ]
        credited = list(ledger.received())
        items = [
            (asset_at(trial.assets, chain, each), amount)
            for each, amount in incoming_assets(message).items()
        ]
        brings = {asset: amount for asset, amount in items if asset is not None}
        if any(asset is None for asset, _ in items):
            findings.unknowns.append(
                f"a message brings an unlisted asset to {chain.title}, so its credit could "
                "not be checked"
            )
        fees = message.first("BuyExecution")
        fee_place = "" if fees is None else write_location(fees["fees"]["id"])
        # What only pays the fee for others may be used up.
        for asset in sorted(brings, key=lambda asset: asset.location != fee_place):
            pays = asset.location == fee_place and len(brings) > 1
            if pays:
                _judge_margin(trial, chain, asset, brings[asset], arrival)
            expected = None
            if arrival is not None and trial.hops[-1].chain.name == chain.name:
                expected = arrival.assets.get(identify(asset, chain), 0)
            due = None if expected is None else amount_of(asset, expected)
            findings.computed = due or findings.computed
            total = sum(each.value for each in credited if each.asset.id == asset.id)
            findings.credited = amount_of(asset, total) if total else findings.credited
            _add_steps(trial, chain, asset, expected, total)
            if not total and not pays and accounts:
                findings.refusals.append(
                    await _say_no_credit(trial, chain, asset, accounts[0], due)
                )
        got = {each.account for each in credited}
        for account in accounts if got else ():
            if account not in got:
                who = format_account(account, chain.ss58_prefix)
                findings.refusals.append(
                    f"nothing is credited to {who} on {chain.title}, although the message "
                    "names that account"
                )


async def _compute(trial: "Trial") -> ComputedArrival | None:
    """Return what the hops leave, and add what they take to the steps."""
    try:
        arrival = await compute_arrival(trial.clients, trial.ledgers)
    except Inconclusive as problem:
        trial.findings.warnings.append(f"the arrival could not be computed: {problem}")
        return None
    for fee in arrival.fees:
        amount = amount_at(trial.assets, fee.chain, fee.identity, fee.amount)
        trial.findings.steps.append(Step(chain=fee.chain.name, what=fee.what, amount=amount))
    return arrival


def _add_steps(
    trial: "Trial",
    chain: "Chain",
    asset: "Asset",
    expected: int | None,
    credit: int,
    taken: int = 0,
) -> None:
    """Add to the steps what should arrive and what does, without what the chain takes of that as a
    deposit of the receiver."""
    findings = trial.findings
    if taken:
        findings.add_step(chain, "receiver deposit", asset, taken)
    if expected is not None:
        findings.add_step(chain, "computed arrival", asset, max(expected - taken, 0))
    if credit > taken:
        findings.add_step(chain, "arrives", asset, credit - taken)
    if credit and expected is not None and credit != expected:
        findings.warnings.append(
            f"{amount_of(asset, expected)} should arrive on {chain.title} as computed, but "
            f"its dry run credits {amount_of(asset, credit)}"
        )


def _judge_margin(
    trial: "Trial",
    chain: "Chain",
    asset: "Asset",
    amount: int,
    arrival: ComputedArrival | None,
    deposit: int = 0,
) -> None:
    """Say if the fee on *chain*, and the receiver's *deposit*, would be more than the *amount* of
    *asset* that pays once they rise a little.

    Then all of the transfer is trapped.
    """
    key = (chain.name, identify(asset, chain))
    fees = () if arrival is None else arrival.fees
    taken = sum(fee.amount for fee in fees if (fee.chain.name, fee.identity) == key)
    sentence = (
        f"{asset.amount(amount)} goes along to pay the fee on {chain.title}, which is "
        f"{asset.amount(taken)} now"
    )
    if taken > amount:
        trial.findings.unknowns.append(f"{sentence}: that is more, although nothing fails there")
    elif (taken + deposit) * 4 > amount * 3:
        beside = f", and the receiver's deposit of {asset.amount(deposit)}" if deposit else ""
        trial.findings.warnings.append(
            f"{sentence}{beside}. If {chain.title} takes more than goes along, the "
            "transfer is trapped there."
        )


async def _say_no_credit(
    trial: "Trial", chain: "Chain", asset: "Asset", beneficiary: bytes, computed: Amount | None
) -> str:
    """Return why no *asset* is credited on *chain*, where *computed* should arrive."""
    client = trial.clients(chain)
    try:
        deposit = await existential_deposit(client, asset)
        held = await free_balance(client, asset, beneficiary)
    except Inconclusive:
        held = deposit = 0
    if computed is not None and computed.value < deposit and not held:
        return (
            f"{computed} would arrive on {chain.title}, less than the existential deposit of "
            f"{amount_of(asset, deposit)}, and the beneficiary holds none there yet: it would "
            "be lost without a trace"
        )
    return (
        f"no {asset.display_name} is credited to the beneficiary on {chain.title}, although "
        "nothing fails there"
    )
