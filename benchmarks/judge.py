"""Judges a check by what the chains did: is it right, a false ok, a false refusal, or is an amount
off?"""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scenarioctl.chains.addresses import parse_account
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Check, Holding
from scenarioctl.transactions.simulation.runtime_api import amount_of
from tests.live.cases import Case, Cast
from tests.live.world import RIGHTS, Outcome, Place, State, World

#: Begins the accounts of pallets and of other chains.
_CHAIN_ACCOUNTS = (b"modl", b"para", b"sibl")
#: Steps that say what is taken on the way.
_TAKEN = ("transaction fee", "delivery", "execution", "deposit", "receiver deposit")
#: Words by which a check says that something is gone or can't be spent.
_SAID = (
    "destroys",
    "locks",
    "locked",
    "reserve",
    "dust",
    "removes",
    "trapped",
    "burn",
    "bond",
    "deposit",
)
WRONG = (
    "false ok",
    "false refusal",
    "false unknown",
    "amount off",
    "fee off",
    "wrong verdict",
    "not said",
)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    #: `fine`, `not run` or one of `WRONG`.
    kind: str = "fine"
    details: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> bool:
        return self.kind in WRONG


@dataclass(kw_only=True)
class _Facts:
    """What changed, as far as it matters to a person."""

    moved: dict[Place, tuple[int, int, int]]
    rights: list[str]
    #: What nobody has any more and what isn't the transaction's fee, by asset.
    vanished: dict[str, int]


@dataclass(kw_only=True)
class Trial:
    """A case, what was said of it, and what it did."""

    case: Case
    cast: Cast
    call: Call
    check: Check
    #: Of the same transfer, if the program builds it.
    built: Check | None
    outcome: Outcome
    before: State
    after: State
    world: World

    @cached_property
    def words(self) -> str:
        return " ".join((*self.check.reasons, *self.check.warnings))

    @cached_property
    def says_line(self) -> bool:
        """Tell whether the check says what the case expects of it."""
        return self.case.line in " ".join(
            (self.words, *(str(step.amount) for step in self.check.steps))
        )

    @cached_property
    def stated(self) -> dict[Place, int]:
        return _stated(self.check, self.world)

    @cached_property
    def facts(self) -> _Facts:
        return _facts(self)

    @cached_property
    def named(self) -> set[bytes]:
        """All that could be accounts in the call."""
        return _accounts_in(self.call.args, set())

    def tell(self) -> tuple[list[str], list[str]]:
        """Return what was stated and what was executed, for a person to read."""
        told = [_tell(place, (amount, 0, 0)) for place, amount in self.stated.items()]
        told += [f"{step.chain} {step.what} {step.amount}" for step in self.check.steps]
        return told, [*(_tell(*moved) for moved in self.facts.moved.items()), *self.facts.rights]


def judge(trial: Trial) -> Judgement:
    judged = {"ok": _judge_ok, "refused": _judge_refused, "unknown": _judge_unknown}[
        trial.check.verdict
    ](trial)
    if not judged.wrong and trial.case.names is not None and trial.check.verdict == "unknown":
        judged = _must_name(trial)
    if not judged.wrong and trial.built is not None:
        judged = _judge_built(trial.built, trial)
    return judged


def _judge_ok(trial: Trial) -> Judgement:
    case, facts, words = trial.case, trial.facts, trial.words
    wrong: list[str] = []
    if trial.outcome.real != "arrives":
        wrong.append(f"{trial.outcome.real}: {trial.outcome.why}")
    mentioned = {_account(holding) for holding in (*trial.check.credits, *trial.check.leaves)}
    mentioned |= {account for _, account, _ in facts.moved if trial.world.is_named(account, words)}
    for place, change in facts.moved.items():
        wrong += _lost_here(place, change, trial, trial.named | mentioned)
    wrong += [f"not said: {right}" for right in facts.rights if not _says_right(words)]
    wrong += [
        f"{amount} of {asset} are gone without a line"
        for asset, amount in facts.vanished.items()
        if amount > _slack(asset) and "destroys" not in words
    ]
    if "ok" not in case.verdicts:
        wrong.append("must be " + " or ".join(sorted(case.verdicts)))
    if wrong:
        return Judgement(kind="false ok", details=wrong)
    if not trial.says_line:
        return Judgement(kind="not said", details=[f"nothing says {case.line}"])
    holders = " ".join(holding.account for holding in trial.check.credits)
    if case.names is not None and not trial.world.is_named(case.names(trial.cast), words + holders):
        return Judgement(kind="not said", details=["the stranger isn't named"])
    if off := _amounts_off(trial):
        return Judgement(kind="amount off", details=off)
    if off := _fee_off(trial):
        return Judgement(kind="fee off", details=off)
    return Judgement()


def _lost_here(
    place: Place, change: tuple[int, int, int], trial: Trial, named: set[bytes]
) -> list[str]:
    free, reserved, frozen = change
    chain, account, asset = place
    stated, sender = trial.stated, trial.cast.sender
    said = stated.get(place, 0)
    wrong = []
    if account != sender and place in stated and said > free:
        wrong.append(f"{chain}: {account.hex()[:8]} gets {free} of {asset}, {said} were stated")
    if account != sender and free > 0 and place not in stated and account not in named:
        wrong.append(f"{chain}: {account.hex()[:8]} gets {free} of {asset}, and isn't mentioned")
    if account != sender and free < 0 and place not in stated and account not in named:
        wrong.append(f"{chain}: {account.hex()[:8]} loses {-free} of {asset}, and isn't mentioned")
    if frozen > 0 and not any(word in trial.words for word in _SAID):
        wrong.append(f"{chain}: {frozen} of {asset} frozen without a word")
    if reserved and not _tells_of(trial, place, reserved):
        wrong.append(f"{chain}: {reserved:+} of {asset} reserved without its amount")
    return wrong


def _tells_of(trial: Trial, place: Place, reserved: int) -> bool:
    """Tell whether the check says that so much more is reserved of the account at *place*: a step
    of the sender's does, or a sentence."""
    name, account, label = place
    native = trial.world.app.assets.native(trial.world.chain(name))
    said = amount_of(native, abs(reserved))
    steps = [step.amount for step in trial.check.steps if step.what in ("deposit", "released")]
    if said.asset != label or (account == trial.cast.sender and said in steps):
        return True
    return str(said) in trial.words


def _judge_refused(trial: Trial) -> Judgement:
    case, outcome, reasons = trial.case, trial.outcome, trial.check.reasons
    if "refused" in case.verdicts and case.kind != "generated":
        return Judgement()
    if case.kind == "ordinary" or _harmless(trial):
        if outcome.real == "arrives":
            return Judgement(kind="false refusal", details=list(reasons)[:3])
        return Judgement(details=[outcome.real])
    if "refused" not in case.verdicts:
        details = ["must be " + " or ".join(sorted(case.verdicts)), *reasons[:2]]
        return Judgement(kind="wrong verdict", details=details)
    return Judgement()


def _harmless(trial: Trial) -> bool:
    """Tell whether all went as the call says, and nobody but the named got or lost anything."""
    facts, cast = trial.facts, trial.cast
    return (
        trial.outcome.real == "arrives"
        and not facts.rights
        and not any(amount > _slack(asset) for asset, amount in facts.vanished.items())
        and not any(
            change[1] > 0
            or change[2] > 0
            or (account not in trial.named and account != cast.sender)
            for (_, account, _), change in facts.moved.items()
        )
        and not any(account == cast.mallory for _, account, _ in facts.moved)
    )


def _judge_unknown(trial: Trial) -> Judgement:
    verdicts = trial.case.verdicts
    if "unknown" in verdicts:
        if trial.says_line:
            return Judgement()
        return Judgement(kind="not said", details=[f"nothing says {trial.case.line}"])
    kind = "false unknown" if verdicts == {"ok"} else "wrong verdict"
    details = ["must be " + " or ".join(sorted(verdicts)), *trial.check.reasons[:2]]
    return Judgement(kind=kind, details=details)


def _judge_built(built: Check, trial: Trial) -> Judgement:
    """Judge the check of the transfer that the program built, whose call is the same."""
    if built.verdict != "ok":
        kind = "false refusal" if built.verdict == "refused" else "false unknown"
        return Judgement(kind=kind, details=["as a transfer", *built.reasons[:2]])
    got = [
        change[0]
        for (_, account, _), change in trial.facts.moved.items()
        if account == trial.cast.a
    ]
    for what, amount in (("credited", built.credited), ("computed", built.computed)):
        if amount is not None and [amount.value] != got:
            details = [f"as a transfer: {amount.value} {what}, {got} executed"]
            return Judgement(kind="amount off", details=details)
    return Judgement()


def _amounts_off(trial: Trial) -> list[str]:
    off = []
    for place, amount in trial.stated.items():
        free = trial.facts.moved.get(place, (0, 0, 0))[0]
        if place[1] != trial.cast.sender and amount != free:
            off.append(f"{place[0]}: {place[1].hex()[:8]} {free} of {place[2]}, {amount} stated")
    off += _arrivals_off(trial.check, trial.facts, trial.named)
    return off


def _fee_off(trial: Trial) -> list[str]:
    fees = [step.amount.value for step in trial.check.steps if step.what == "transaction fee"]
    bounded = any("at most" in words for words in trial.check.warnings)
    natively = not any(place[2] == "20" for place in trial.facts.moved)
    if fees and fees[0] != trial.outcome.fee and not bounded and natively:
        return [f"fee {trial.outcome.fee}, {fees[0]} stated"]
    return []


def _arrivals_off(check: Check, facts: _Facts, named: set[bytes]) -> list[str]:
    """Compare what `arrives` on a chain with what the named accounts got there in all."""
    arriving: Counter[tuple[str, str]] = Counter()
    for step in check.steps:
        if step.what == "arrives":
            arriving[step.chain, step.amount.asset] += step.amount.value
    off = []
    for place, said in arriving.items():
        got = sum(
            free
            for (chain, account, asset), (free, _, _) in facts.moved.items()
            if (chain, asset) == place and account in named and free > 0
        )
        if got != said:
            off.append(f"{place[0]}: the named get {got} of {place[1]}, {said} stated to arrive")
    return off


def _facts(trial: Trial) -> _Facts:
    check, outcome, before, after = trial.check, trial.outcome, trial.before, trial.after
    moved: dict[Place, tuple[int, int, int]] = {}
    vanished: Counter[str] = Counter()
    for place in sorted({*before.balances, *after.balances}):
        old, new = before.balances.get(place), after.balances.get(place)
        free = (new.free if new else 0) - (old.free if old else 0)
        reserved = (new.reserved if new else 0) - (old.reserved if old else 0)
        frozen = (new.frozen if new else 0) - (old.frozen if old else 0)
        account = place[1]
        if not (free or reserved or frozen) or account in trial.world.household:
            continue
        house = account.startswith(_CHAIN_ACCOUNTS)
        if not house:
            moved[place] = (free, reserved, frozen)
            vanished[_kind_of(place[2])] -= free + reserved
    if moved:
        vanished[_native(check)] -= outcome.fee
        for step in check.steps:
            if step.what in _TAKEN and step.what != "transaction fee":
                vanished[_kind_of(step.amount.asset)] -= step.amount.value
    return _Facts(moved=moved, rights=_rights(before, after), vanished=dict(vanished))


def _native(check: Check) -> str:
    fees = [step.amount.asset for step in check.steps if step.what == "transaction fee"]
    return _kind_of(fees[0]) if fees else ""


def _kind_of(asset: str) -> str:
    """Return one name for what the chains call differently."""
    return {"DOT": "KSM"}.get(asset, asset)


def _slack(asset: str) -> int:
    """Return how much of an asset may go for fees on the way that no step says."""
    return {"KSM": 10**11, "USDT": 10**5, "20": 10**17}.get(asset, 10**11)


def _rights(before: State, after: State) -> list[str]:
    found = []
    for key in sorted({*before.records, *after.records}):
        chain, name, _ = key
        old, new = before.records.get(key), after.records.get(key)
        if name in RIGHTS and old != new and new is not None and not _is_no_right(key, old, new):
            found.append(f"{chain} {name}")
    return found


def _is_no_right(place: tuple[str, str, str], old: str | None, new: str) -> bool:
    """Tell whether only the supply of an asset changed, or less is approved than before, or what
    is staked is the account's own."""
    _, name, key = place
    if (name == "Staking.Bonded" and new[2:] in key) or (name == "Staking.Payee" and new < "0x03"):
        return True
    if old is None:
        return False
    if name.endswith(".Approvals"):
        less, more = (int.from_bytes(bytes.fromhex(value[2:34]), "little") for value in (new, old))
        return less < more
    return name == "Assets.Asset" and old[: 2 + 4 * 64] == new[: 2 + 4 * 64]


def _says_right(words: str) -> bool:
    return any(
        word in words
        for word in ("lets ", "may ", "locks", "bond", "reserve", "deposit", "approve", "removed")
    )


def _must_name(trial: Trial) -> Judgement:
    assert trial.case.names is not None
    if trial.world.is_named(trial.case.names(trial.cast), trial.words):
        return Judgement()
    return Judgement(kind="not said", details=["unknown, but the stranger isn't named"])


def _stated(check: Check, world: World) -> dict[Place, int]:
    stated: Counter[Place] = Counter()
    for sign, holdings in ((1, check.credits), (-1, check.leaves)):
        for each in holdings:
            if each.system:
                continue
            account = _account(each)
            if not account or account.startswith(_CHAIN_ACCOUNTS) or account in world.household:
                continue
            stated[each.chain, account, each.amount.asset] += sign * each.amount.value
    return {place: amount for place, amount in stated.items() if amount}


def _account(holding: Holding) -> bytes:
    try:
        return parse_account(holding.account, field="account")
    except InvalidRequest:
        return b""


def _accounts_in(value: Any, found: set[bytes]) -> set[bytes]:
    """Return all that could be accounts in the arguments of a call."""
    if isinstance(value, (bytes, bytearray)) and len(value) in (20, 32):
        found.add(bytes(value))
        if len(value) == 20:
            # As Hydration has them.
            found.add(b"ETH\0" + bytes(value) + bytes(8))
    elif isinstance(value, dict):
        for inner in value.values():
            _accounts_in(inner, found)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _accounts_in(inner, found)
    return found


def _tell(place: Place, change: tuple[int, int, int]) -> str:
    free, reserved, frozen = change
    more = f", reserved {reserved:+}, frozen {frozen:+}" if reserved or frozen else ""
    return f"{place[0]} {place[1].hex()} {place[2]}: {free:+}{more}"
