"""What counts though no simulation shows it: what could run besides, rights that are given, and
what isn't understood.

A check says of it what it is, and never *ok*.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import split_account, write_location
from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.transactions.call_kinds import Danger, kind_of_call
from scenarioctl.transactions.events import explain_dispatch_error
from scenarioctl.transactions.inner_calls import decoded_call, named_accounts
from scenarioctl.transactions.wording.calls import tell_call
from scenarioctl.transactions.xcm_instructions import kind_of

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.transactions.simulation.ledger import HopLedger
    from scenarioctl.transactions.simulation.trial import Trial
    from scenarioctl.transactions.xcm_instructions import Instruction


#: Events of a multisig whose call waits for more approvals.
_WAITING = ("NewMultisig", "MultisigApproval")


async def check_branches(trial: "Trial") -> None:
    """Leave open what pays anybody but the expected receivers, or destroys something, if it runs on
    another day."""
    unknowns = trial.findings.unknowns
    for instruction in trial.instructions:
        chain = instruction.chain
        if chain is None:
            continue
        kind = kind_of(instruction.name)
        if instruction.on_error and (kind.destroys or kind.buys):
            what = "destroys assets" if kind.destroys else "pays fees that no simulation shows"
            unknowns.append(f"if a program fails on {chain.title}, it {what} ({instruction.name})")
        expected = {trial.sender, trial.beneficiary} | _only_receiver(trial.ledgers, chain)
        for who in _paid(instruction):
            if not isinstance(who, bytes) or who not in expected:
                unknowns.append(_say_branch(instruction, chain, _say(who, chain)))
    fell_back = any(str(event) == "Utility.IfElseFallbackCalled" for event in trial.hops[0].events)
    for found in trial.calls:
        outer, call = found.outer, found.call
        if outer is None or kind_of_call(call).danger is Danger.REMARK:
            continue
        if (outer.pallet, outer.method) == ("Utility", "if_else"):
            # Of the two, the one that ran was simulated.
            if fell_back or not found.runs:
                unknowns += _say_other_branch(
                    trial, call, {*named_accounts(call, await trial.table())}
                )
        elif not found.runs:
            unknowns.append(
                f"{outer.pallet}.{outer.method} keeps {call.pallet}.{call.method} to run "
                "later, which is not simulated"
            )


def _say_other_branch(trial: "Trial", call: "Call", named: set[bytes]) -> list[str]:
    """Return what is open if *call*, a branch of `if_else` that has *named*, runs: it may only pay
    who is paid now."""
    may_run = f"the branch {call.pallet}.{call.method} of Utility.if_else may run instead, and"
    expected = {trial.sender, trial.beneficiary}
    expected |= {entry.account for entry in trial.ledgers[0].received()}
    strangers = [f"{may_run} names {_say(account, trial.chain)}" for account in named - expected]
    if not strangers and (not named or any(each.outer is call for each in trial.calls)):
        return [f"{may_run} is not simulated"]
    return strangers


def _only_receiver(ledgers: "Sequence[HopLedger]", chain: "Chain") -> frozenset[bytes]:
    """Return the account that gets all that reaches *chain*; none if several do."""
    found = frozenset(
        entry.account
        for ledger in ledgers
        if ledger.hop.chain == chain
        for entry in ledger.received()
    )
    return found if len(found) == 1 else frozenset()


def _paid(instruction: "Instruction") -> Iterator[bytes | str]:
    """Give each account, or other place, that *instruction* pays in a branch."""
    fields = instruction.fields
    if instruction.name == "SetHints":
        for hint in fields["hints"]:
            if isinstance(hint, dict) and "AssetClaimer" in hint:
                yield _account_of(hint["AssetClaimer"]["location"])
    elif (paid := kind_of(instruction.name).pays) and (instruction.on_error or instruction.at_end):
        yield _account_of(fields[paid])


def _account_of(location: Any) -> bytes | str:
    return split_account(location)[1] or write_location(location) or "another place"


def _say_branch(instruction: "Instruction", chain: "Chain", who: str) -> str:
    if instruction.name == "SetHints":
        return f"if assets are trapped on {chain.title}, {who} can claim them"
    when = (
        "if a program fails" if instruction.on_error else "at the end of a program, or if it fails"
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
    findings.losses += story.deposits


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
