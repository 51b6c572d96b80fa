"""Build the transactions of stakers: bond, nominate, unbond, withdraw, pay out rewards, and the
same in a nomination pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from scenarioctl.actions.drafting import draft_batch, draft_call
from scenarioctl.actions.fields import is_maximum, read_tokens
from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, InvalidRequest, NotFound
from scenarioctl.model.amounts import read_choice, read_number
from scenarioctl.model.calls import Call, UnsignedTransaction
from scenarioctl.model.request_fields import Address, ChainName, Count, Tokens, Value
from scenarioctl.operations.answered_calls import BuiltCall, answer_call
from scenarioctl.operations.built_transactions import (
    CheckableFields,
    check_form,
    check_sender,
    parse_sender,
)
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

__all__ = ["build_staking"]

#: Action -> the pallet, the method, and the fields that it needs. Those in _OPTIONAL may be given
#: too.
_ACTIONS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "bond": ("Staking", "bond", ("amount",)),
    "bond-extra": ("Staking", "bond_extra", ("amount",)),
    "unbond": ("Staking", "unbond", ("amount",)),
    "rebond": ("Staking", "rebond", ("amount",)),
    "withdraw": ("Staking", "withdraw_unbonded", ()),
    "nominate": ("Staking", "nominate", ("validators",)),
    "chill": ("Staking", "chill", ()),
    "payout": ("Staking", "payout_stakers_by_page", ()),
    "pool-join": ("NominationPools", "join", ("amount", "pool")),
    "pool-bond-extra": ("NominationPools", "bond_extra", ("amount",)),
    "pool-unbond": ("NominationPools", "unbond", ("amount",)),
    "pool-withdraw": ("NominationPools", "withdraw_unbonded", ()),
    "pool-claim": ("NominationPools", "claim_payout", ()),
}
_OPTIONAL = {"bond": ("payee",), "payout": ("account",)}
#: Those whose call names the sender, or depends on what the sender has at stake.
_BY_SENDER = ("unbond", "withdraw", "payout", "pool-unbond", "pool-withdraw")
_PAYEES = {"staked": "Staked", "stash": "Stash", "none": "None"}


@dataclass(frozen=True, kw_only=True)
class BuildStaking(CheckableFields):
    """Build the unsigned transaction of a staker: bond, nominate, unbond, withdraw, pay out
    rewards, and the same in a pool."""

    #: What to do. `unbond` and `pool-unbond` take the amount `max`; `payout` pays out all unclaimed
    #: rewards of an account.
    action: Annotated[str, Value("ACTION", tuple(_ACTIONS))]
    #: Where the account stakes: an Asset Hub.
    chain: ChainName = "assetHub"
    #: Whole tokens, for the actions with an amount.
    amount: Tokens = ""
    #: With `nominate`: the validators.
    validators: Annotated[
        tuple[str, ...], Value("ADDRESS", is_account=True, option="--validator", repeats=True)
    ] = ()
    #: With `bond`: where rewards go: `staked` (default, they are bonded too), `stash`, `none`, or
    #: an account.
    payee: Annotated[
        Address, Value("PAYEE", offers=("staked", "stash", "none"), complete="ADDRESS")
    ] = ""
    #: With `pool-join`: the number of the pool.
    pool: Count | None = None
    #: With `payout`: whose rewards. Default: the sender's.
    account: Address = ""


async def build_staking(app: Application, request: BuildStaking) -> Result[BuiltCall]:
    action = read_choice(request.action, field="action", choices=tuple(_ACTIONS))
    check_form(request, by_sender=action in _BY_SENDER)
    chain = app.registry.find(request.chain)
    sender = check_sender(request.check, request.sender, chain)
    _check_fields(request, action)
    arguments = _Arguments(app, chain, await app.runtime(chain), request)
    if not app.settings.offline:
        from scenarioctl.transactions.staking_state import require_staking

        await require_staking(app.client(chain))
    if action == "payout":
        transaction = await _draft_payouts(app, arguments)
    else:
        pallet, method, _ = _ACTIONS[action]
        params = await arguments.of(action)
        transaction = await draft_call(
            app, chain=chain, pallet=pallet, method=method, params=params
        )
    transaction = replace(
        transaction,
        notes=(*arguments.notes, *transaction.notes),
        asked=arguments.asked or transaction.asked,
    )
    return await answer_call(app, transaction, request, sender)


def _check_fields(request: BuildStaking, action: str) -> None:
    """Refuse fields that the action has no use for, and the lack of one that it needs."""
    needed = _ACTIONS[action][2]
    for name in ("amount", "validators", "payee", "pool", "account"):
        value = getattr(request, name)
        if value in ("", (), None):
            if name in needed:
                raise InvalidRequest(field=name, problem=f"is missing: {action} needs it")
        elif name not in (*needed, *_OPTIONAL.get(action, ())):
            raise InvalidRequest(
                field=name, value=value, problem=f"has no effect on {action}: omit it"
            )


class _Arguments:
    """The arguments of a staker's call, and what to say of them."""

    def __init__(
        self, app: Application, chain: "Chain", table: "RuntimeTable", request: BuildStaking
    ) -> None:
        self.app, self.chain, self.table, self.request = app, chain, table, request
        self.notes: list[str] = []
        #: How many endpoints told what the arguments rest on; 0 if no chain was asked.
        self.asked: Literal[0, 1, 2] = 0

    async def of(self, action: str) -> dict[str, Any]:
        """Return the arguments by name, as `build_call` takes them."""
        request = self.request
        if action == "bond":
            return {"value": self._raw(), "payee": self._payee()}
        if action == "bond-extra":
            return {"max_additional": self._raw()}
        if action == "rebond":
            return {"value": self._raw()}
        if action == "unbond":
            return {"value": await self._active() if is_maximum(request.amount) else self._raw()}
        if action == "withdraw":
            return {"num_slashing_spans": await self._spans()}
        if action == "nominate":
            return {"targets": self._validators()}
        if action == "pool-join":
            most = 2**32 - 1
            pool = read_number(request.pool, field="pool", kind="the number of a pool", most=most)
            return {"amount": self._raw(), "pool_id": pool}
        if action == "pool-bond-extra":
            return {"extra": {"FreeBalance": self._raw()}}
        if action == "pool-unbond":
            return {
                "member_account": self._hex(self.staker()),
                "unbonding_points": await self._points(),
            }
        if action == "pool-withdraw":
            spans = await self._spans(of_pool=True)
            return {"member_account": self._hex(self.staker()), "num_slashing_spans": spans}
        return {}

    def staker(self) -> bytes:
        """Return the account that stakes: the sender, or for whom they act."""
        request = self.request
        if not request.sender:
            raise InvalidRequest(
                field="sender", problem="is missing", expected="the account that stakes"
            )
        return self.app.mover(parse_sender(request.sender, self.chain))

    def _raw(self) -> int:
        return read_tokens(self.request.amount, self.app.assets.native(self.chain), "amount")[1]

    def _hex(self, account: bytes) -> str:
        return "0x" + account.hex()

    def _validators(self) -> list[str]:
        accounts = [
            self.chain.account_format.parse(each, field=f"validators[{place}]")
            for place, each in enumerate(self.request.validators)
        ]
        return [self._hex(each) for each in dict.fromkeys(accounts)]

    def _payee(self) -> Any:
        text = self.request.payee.strip()
        if known := _PAYEES.get(text.lower() or "staked"):
            return known
        try:
            return {"Account": self._hex(self.chain.account_format.parse(text, field="payee"))}
        except InvalidRequest as error:
            if not error.expected:
                raise
            wanted = f"{', '.join(_PAYEES)}, or {error.expected}"
            said = error.reworded(
                lambda rest: f"{rest.partition(', expected ')[0]}, expected {wanted}"
            )
            said.expected = wanted
            raise said from None

    async def ask(self, ask: Any) -> Any:
        """Return what *ask* returns of a client, of two endpoints."""
        from scenarioctl.chains.confirmation import confirm, say_alone

        found = await confirm(self.app.pool, lambda clients: ask(clients(self.chain)))
        answer = found.agreed()
        self.asked = found.asked
        self.notes += say_alone(found.alone)
        return answer

    def need_connection(self, what: str) -> None:
        if self.app.settings.offline:
            raise ChainUnreachable(
                f"{what} can't be read offline", advice=self.app.settings.online_advice
            )

    async def _active(self) -> int:
        self.need_connection("what is bonded")
        state = await self.ask(_reader_of(self.staker()))
        if not state.active:
            raise NotFound(f"the account has nothing bonded on {self.chain.title}")
        return int(state.active)

    async def _points(self) -> int:
        """Return the points of a pool that the amount is worth."""
        request, member = self.request, self.staker()
        wants_all = is_maximum(request.amount)
        if wants_all:
            self.need_connection("what is in the pool")
        raw = 0 if wants_all else self._raw()
        if self.app.settings.offline:
            self.notes.append(
                "Offline, a point is taken to be worth one smallest unit. In a pool that "
                "was slashed it is worth less."
            )
            return raw

        async def ask(client: "Client") -> int:
            row = await client.storage("NominationPools", "PoolMembers", member)
            if row is None:
                raise NotFound(f"the account is in no nomination pool on {self.chain.title}")
            if wants_all:
                return int(row["points"])
            pool = int(row["pool_id"])
            return int(
                await client.runtime_call("NominationPoolsApi", "balance_to_points", pool, raw)
            )

        return int(await self.ask(ask))

    async def _spans(self, *, of_pool: bool = False) -> int:
        """Return how many slashing spans a withdrawal has to clear, where the runtime still has
        them."""
        if "SlashingSpans" not in self.table.storage_entries("Staking"):
            return 0
        if of_pool or self.app.settings.offline or not self.request.sender:
            self.notes.append(
                "The number of slashing spans is unknown, and taken as 0. After a slash, "
                "the chain needs it to withdraw the whole bond."
            )
            return 0
        stash = self.staker()
        spans = await self.ask(lambda client: client.storage("Staking", "SlashingSpans", stash))
        return 0 if spans is None else 1 + len(spans["prior"])


def _reader_of(account: bytes) -> Any:
    from scenarioctl.transactions.staking_state import read_staking

    return lambda client: read_staking(client, account)


async def _draft_payouts(app: Application, arguments: _Arguments) -> UnsignedTransaction:
    """Return the transaction that pays out all unclaimed rewards of an account, or as many of the
    oldest as fit."""
    chain, request, table = arguments.chain, arguments.request, arguments.table
    arguments.need_connection("unclaimed rewards")
    account = (
        chain.account_format.parse(request.account, field="account")
        if request.account
        else arguments.staker()
    )
    state = await arguments.ask(_reader_of(account))
    calls = [
        Call(
            pallet="Staking",
            method="payout_stakers_by_page",
            args={"validator_stash": each.validator, "era": each.era, "page": each.page},
        )
        for each in state.unclaimed
    ]
    if not calls:
        raise NotFound(f"no unclaimed rewards of this account were found on {chain.title}")
    fitting = await _count_fitting(app, chain, table, calls, account)
    amount = app.assets.native(chain).amount(sum(each.amount for each in state.unclaimed[:fitting]))
    rest = len(calls) - fitting
    left = f" {rest} more don't fit: build this again once it is in a block." if rest else ""
    arguments.notes.append(
        f"Pays out {fitting} unclaimed page{'s' * (fitting > 1)}, of which the account "
        f"gets about {amount}.{left}"
    )
    # One that somebody else pays out meanwhile fails alone.
    return await draft_batch(app, chain=chain, kind="force-batch", calls=calls[:fitting])


async def _count_fitting(
    app: Application, chain: "Chain", table: "RuntimeTable", calls: Sequence[Call], account: bytes
) -> int:
    """Return how many of *calls*, at least one, a transaction takes by the weight that the chain
    tells of it."""
    from scenarioctl.transactions.batch_limits import read_limits
    from scenarioctl.transactions.call_builder import build_batch
    from scenarioctl.transactions.simulation.costs import dispatch_info
    from scenarioctl.transactions.simulation.runtime_api import Inconclusive

    limits, fitting = read_limits(table), min(len(calls), read_limits(table).calls)
    while fitting > 1:
        batch = build_batch("force-batch", calls[:fitting], table).call
        try:
            weight = (await dispatch_info(app.client(chain), batch, account))["weight"]
        except Inconclusive as problem:
            raise ChainUnreachable(
                f"how many payouts fit into a transaction is unknown: {problem}"
            ) from None
        share = limits.share(length=len(table.encode_call(batch)), calls=fitting, weight=weight)
        if share <= 1:
            break
        fitting = max(min(int(fitting / share), fitting - 1), 1)
    return fitting
