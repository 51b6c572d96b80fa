"""What counts though no simulation shows it: other branches, rights given, competing messages.

A check says of it what it is, and never *ok*.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import split_account, write_location
from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.transactions.blocks import explain_dispatch_error
from scenarioctl.transactions.inner_calls import (
    Danger,
    account_inside,
    decoded_call,
    kind_of_call,
    named_accounts,
    read_call,
    walk_calls,
)
from scenarioctl.transactions.simulation.runtime_api import Inconclusive, read_details, read_storage
from scenarioctl.transactions.simulation.trapped_assets import describe_assets
from scenarioctl.transactions.wording.calls import tell_call
from scenarioctl.transactions.xcm_instructions import kind_of

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.ledger import HopLedger
    from scenarioctl.transactions.simulation.runtime_api import Clients
    from scenarioctl.transactions.simulation.trial import Trial
    from scenarioctl.transactions.xcm_instructions import Instruction


async def check_competing_messages(trial: "Trial") -> None:
    """Leave open what two messages to one chain, or the call and a message that comes back, both
    draw on: a pool, an account, a deposit limit."""
    drawn: dict[tuple[str, object], int] = {}
    closed = {
        event.fields["account"]
        for event in trial.hops[0].events
        if str(event) == "System.KilledAccount"
    }
    for number, ledger in enumerate(trial.ledgers):
        chain = ledger.hop.chain
        if ledger.hop.message is None:
            found = _changed_by_call(trial, ledger)
        else:
            found = await _drawn_on(ledger, trial.clients)
            found |= {entry.account for entry in ledger.received()} & closed
        touched = {(chain.name, what) for what in found}
        shared = {what for what in touched if drawn.get(what, number) != number}
        if shared:
            # The call is the first.
            with_call = not all(drawn[what] for what in shared)
            who = (
                f"the transaction and a message that comes back to {chain.title}"
                if with_call
                else f"two messages of the transaction reach {chain.title} and"
            )
            trial.findings.unknowns.append(
                f"{who} draw on the same {_shared(shared)}: each was simulated without the other"
            )
        drawn.update(dict.fromkeys(touched, number))


def _changed_by_call(trial: "Trial", ledger: "HopLedger") -> set[object]:
    """Return the accounts that change on the first chain, the pool among them that exchanges the
    fee."""
    found: set[object] = {
        entry.account for entry in ledger.entries if entry.value and not entry.is_mirror
    }
    if trial.fee_asset is not None:
        found |= {
            entry.account
            for each in trial.ledgers
            if each.hop.chain == trial.chain
            for entry in each.entries
            if entry.role == "pool"
        }
    return found


async def _drawn_on(ledger: "HopLedger", clients: "Clients") -> set[object]:
    found: set[object] = set()
    for entry in ledger.entries:
        asset = entry.asset
        if entry.value < 0 and not entry.is_mirror:
            found.add(entry.account)
        elif entry.value > 0 and asset.kind == "tokens" and asset.id.isdigit():
            try:
                row = await read_details(clients(ledger.hop.chain), asset)
            except Inconclusive:
                # No chain but Hydration is known to have limits.
                continue
            if row is not None and row.get("xcm_rate_limit") is not None:
                found.add(asset.id)
    return found


def _shared(shared: set[tuple[str, object]]) -> str:
    return (
        "account or pool" if any(isinstance(what, bytes) for _, what in shared) else "deposit limit"
    )


#: Events of a multisig whose call waits for more approvals.
_WAITING = ("NewMultisig", "MultisigApproval")
_REMOVALS = (("Proxy", "remove_proxy"), ("Proxy", "remove_proxies"))


async def check_branches(trial: "Trial") -> None:
    """Leave open what takes more than is seen, pays anybody but the expected receivers, or destroys
    something, if it runs on another day."""
    found = [said for each in trial.instructions for said in _read_instruction(trial, each)]
    events = [str(event) for event in trial.hops[0].events]
    for call in (each.call for each in trial.calls):
        if (call.pallet, call.method) == ("Utility", "if_else"):
            # Of the two, the one that ran was simulated; of several calls, events don't tell which.
            if "Utility.IfElseFallbackCalled" not in events:
                found += await _say_other_branch(trial, call, ran="main", other="fallback")
            elif "Utility.IfElseMainSuccess" not in events:
                found += await _say_other_branch(trial, call, ran="fallback", other="main")
            else:
                found += await _say_other_branch(trial, call, ran="", other="main")
                found += await _say_other_branch(trial, call, ran="", other="fallback")
    for each in trial.calls:
        outer, call = each.outer, each.call
        if (
            outer is not None
            and not each.runs
            and not kind_of_call(outer).runs_inside
            and kind_of_call(call).danger is not Danger.REMARK
        ):
            found.append(
                f"{outer.pallet}.{outer.method} keeps {call.pallet}.{call.method} to run "
                "later, which is not simulated"
            )
    trial.findings.unknowns += found
    trial.findings.branches += found


def _read_instruction(trial: "Trial", instruction: "Instruction") -> Iterator[str]:
    """Say what is open if *instruction* runs, or doesn't, on another day."""
    chain, kind = instruction.chain, kind_of(instruction.name)
    is_certain = not (instruction.on_error or instruction.at_end or instruction.skippable)
    if chain is None:
        if kind.pays and not is_certain:
            yield "whether assets go to no chain of the registry depends on whether a program fails"
        return
    if (kind.brings or kind.takes) and not is_certain:
        items = instruction.fields if kind.brings else instruction.fields["assets"]
        taken = describe_assets(trial.assets, chain, {"": items})
        yield (
            f"whether a program takes {taken} on {chain.title} ({instruction.name}) depends on "
            "whether it fails"
        )
    if instruction.on_error and (kind.destroys or kind.buys):
        what = "destroys assets" if kind.destroys else "pays fees that no simulation shows"
        yield f"if a program fails on {chain.title}, it {what} ({instruction.name})"
    expected = {trial.sender, trial.beneficiary}
    got = _receivers(trial.ledgers, chain)
    # Whoever gets what is left may get all of it: nobody else may be meant to get something.
    if len(got) == 1 or not (instruction.on_error or instruction.at_end or is_certain):
        expected |= got
    for who in () if is_certain and instruction.name != "SetHints" else _paid(instruction):
        if not isinstance(who, bytes) or who not in expected:
            yield _say_branch(instruction, chain, _say(who, chain))


async def _say_other_branch(trial: "Trial", call: "Call", *, ran: str, other: str) -> list[str]:
    """Return what is open if the *other* branch of *call*, an `if_else`, runs instead of the one
    that *ran*: it may only make the same payments, or a part of them."""
    table = await trial.table()
    branch = read_call(call.args[other])
    paid = _payments(branch, table)
    seen = (_payments(read_call(call.args[ran]), table) if ran else None) or Counter()
    if paid is not None and paid <= seen:
        return []
    chain = trial.chain
    story = tell_call(branch, chain, trial.assets, lambda each: table if each == chain else None)
    return [
        f"the branch {branch.pallet}.{branch.method} of Utility.if_else may run instead, and is "
        f"not simulated: {story.sentence}"
    ]


def _payments(branch: "Call", table: "RuntimeTable") -> "Counter[str] | None":
    """Return how much *branch* pays of what to whom, by the same account; None if it does more."""
    sums: Counter[str] = Counter()
    for found in walk_calls(branch, table):
        call, kind = found.call, kind_of_call(found.call)
        if kind.payment is not None:
            amount = kind.payment[0].partition(":")[2].partition(",")[0]
            others = {name: value for name, value in call.args.items() if name != amount}
            sums[f"{call.pallet}.{call.method} {others}"] += int(call.args[amount])
        elif kind.danger is not Danger.REMARK and not (
            call.pallet == "Utility" and "calls" in call.args
        ):
            return None
    return sums


def _receivers(ledgers: "Sequence[HopLedger]", chain: "Chain") -> set[bytes | None]:
    """Return the accounts that get something of what reaches *chain*."""
    return {
        entry.account
        for ledger in ledgers
        if ledger.hop.chain == chain
        for entry in ledger.received()
    }


def _paid(instruction: "Instruction") -> Iterator[bytes | str]:
    """Give each account, or other place, that *instruction* pays, or lets claim what is trapped."""
    fields = instruction.fields
    if instruction.name == "SetHints":
        for hint in fields["hints"]:
            if isinstance(hint, dict) and "AssetClaimer" in hint:
                yield _account_of(hint["AssetClaimer"]["location"])
    elif paid := kind_of(instruction.name).pays:
        yield _account_of(fields[paid])


def _account_of(location: Any) -> bytes | str:
    return split_account(location)[1] or write_location(location) or "another place"


def _say_branch(instruction: "Instruction", chain: "Chain", who: str) -> str:
    if instruction.name == "SetHints":
        return f"if assets are trapped on {chain.title}, {who} can claim them"
    when = (
        "if a program fails"
        if instruction.on_error
        else "at the end of a program, or if it fails"
        if instruction.at_end
        else "if a program doesn't fail"
    )
    return f"{when} on {chain.title}, {who} gets what is left"


def _say(who: "bytes | str", chain: "Chain") -> str:
    return format_account(who, chain.ss58_prefix) if isinstance(who, bytes) else who


async def pending_calls(trial: "Trial") -> AsyncIterator[tuple[bytes, "Call | None"]]:
    """Give what multisig accounts do once the last signatory approves, as the events tell: the
    account, and the call.

    The call is None if only its hash is given.
    """
    events = trial.hops[0].events
    waiting = [
        event.fields for event in events if event.pallet == "Multisig" and event.name in _WAITING
    ]
    table = await trial.table()
    known = {
        blake2b(table.encode_call(found.call), digest_size=32).digest(): found.call
        for found in trial.calls
        if found.outer is not None
        and (found.outer.pallet, found.outer.method) == ("Multisig", "as_multi")
    }
    for fields in waiting:
        yield fields["multisig"], known.get(fields["call_hash"])


async def describe_fallbacks(trial: "Trial") -> None:
    """Say what the events tell of calls that have a fallback: which of the two ran."""
    chain, warnings = trial.chain.title, trial.findings.warnings
    for event in trial.hops[0].events:
        if str(event) == "Utility.IfElseFallbackCalled":
            error = explain_dispatch_error(await trial.table(), event.fields["main_error"])
            warnings.append(
                f"the main call of Utility.if_else fails on {chain} ({error}), so its fallback runs"
            )
        elif str(event) == "Utility.IfElseMainSuccess":
            warnings.append(
                f"the main call of Utility.if_else succeeds on {chain}. If it fails when "
                "it is included, its fallback runs, and the fallback was not simulated"
            )


async def check_granted_rights(trial: "Trial") -> None:
    """Say which rights are given to anybody but the sender, and leave open what comes of them, and
    of what isn't understood."""
    findings = trial.findings
    away = {each.chain for each in trial.instructions if each.name == "Transact"}
    chains = [hop.chain for hop in trial.hops if not hop.unknown and hop.chain in away]
    # Calls for other chains are read by the runtimes of those.
    tables = {chain.name: await trial.clients(chain).table() for chain in (*chains, trial.chain)}
    story = tell_call(trial.call, trial.chain, trial.assets, lambda chain: tables.get(chain.name))
    given = [right.sentence for right in story.rights if right.accounts != {trial.sender}]
    findings.rights += given
    findings.unknowns += [*given, *story.unknown]


async def check_removed_proxies(trial: "Trial") -> None:
    """Say whose proxies are removed beside the signer's, and leave it open if none may be left for
    an account that a proxy acts for: it may have no key."""
    table, findings = await trial.table(), trial.findings
    removed: dict[bytes | None, list[Call]] = defaultdict(list)
    for found in trial.calls:
        if found.account != trial.sender and (found.call.pallet, found.call.method) in _REMOVALS:
            removed[found.account].append(found.call)
    through = {
        account_inside(each.call, None) for each in trial.calls if each.call.pallet == "Proxy"
    }
    for account, calls in removed.items():
        whose = _say("another account" if account is None else account, trial.chain)
        said = f"proxies of {whose} are removed on {trial.chain.title}"
        left = []
        with suppress(Inconclusive):
            left, _ = await read_storage(trial.clients(trial.chain), "Proxy", "Proxies", account)
        for call in calls:
            gone = {(who, call.args["proxy_type"]) for who in named_accounts(call, table)}
            left = [
                each for each in left if gone and (each["delegate"], each["proxy_type"]) not in gone
            ]
        if account in through and not any(each["proxy_type"] == "Any" for each in left):
            findings.unknowns.append(
                f"{said}, and none is left that may do anything: if only its proxies control the "
                "account, it is lost with all that it holds"
            )
        findings.losses.append(said)


async def check_unsupported_instructions(trial: "Trial") -> None:
    """Leave open what instructions do that no dry run shows."""
    for instruction in trial.instructions:
        chain = instruction.chain
        if kind_of(instruction.name).followed or chain is None:
            continue
        said = f"contains {instruction.name}"
        if instruction.name == "Transact":
            try:
                table = await trial.clients(chain).table()
                call = decoded_call(instruction.fields["call"]["encoded"], table)
            except (ChainUnreachable, ChainRefused):
                call = None
            if call is not None and kind_of_call(call).danger is Danger.REMARK:
                continue
            name = (
                "a call that cannot be decoded" if call is None else f"{call.pallet}.{call.method}"
            )
            said = f"executes {name} with Transact"
        trial.findings.unknowns.append(
            f"a program on {chain.title} {said}, and its effects are not simulated"
        )
