"""What a payout will do: its lines in transactions that their chains take, by the limits and by
what each weighs; and whether its accounts can receive and pay what the lines say."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.actions.payout import batch_kind, below_deposit, build_calls, warn_of_deposits
from scenarioctl.actions.payout_lines import (
    LineReader,
    Mistake,
    PayoutLine,
    mistakes_error,
    sum_lines,
)
from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Amount
from scenarioctl.model.json_types import AmountAnswer
from scenarioctl.operations.built_transactions import parse_sender
from scenarioctl.transactions.call_builder import UNWEIGHED, BatchLimits, join_calls, read_limits

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Names and lines that a note lists.
_SHOWN = 5
#: Receivers whose balance is asked for, because they get less than the existential deposit.
_MOST_ASKED = 200


class Told:
    """What to say of the lines."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def names(self, lines: Sequence[PayoutLine]) -> None:
        named = {each.name: each.address for each in lines if each.name}
        if named:
            some = [f"{name} is {address}" for name, address in list(named.items())[:_SHOWN]]
            more = f", and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
            self.notes.append(f"Of the address book: {', '.join(some)}{more}.")

    def other_prefixes(self, reader: LineReader) -> None:
        """Say which addresses are written for another network: somebody may have copied the wrong
        one."""
        for chain, prefix, numbers in reader.foreign():
            where = f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_SHOWN]))}"
            more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
            self.warnings.append(
                f"The addresses in {where}{more} have the prefix {prefix} of another "
                f"network. The same accounts are paid on {chain.title}, whose addresses "
                f"have {chain.ss58_prefix}."
            )


def by_chain(lines: Iterable[PayoutLine]) -> dict[str, list[PayoutLine]]:
    found: dict[str, list[PayoutLine]] = {}
    for each in lines:
        found.setdefault(each.chain.name, []).append(each)
    return found


async def split_lines(
    app: Application, lines: list[PayoutLine], told: Told, *, most: int, memos: bool, goes_on: bool
) -> list[list[PayoutLine]]:
    """Return *lines*, of one chain, in portions that are a transaction each."""
    chain = lines[0].chain
    table = await app.runtime(chain) if app.settings.offline else await _table_of(app, chain)
    limits = read_limits(table)
    weigher = Weigher(app, chain, table, limits, memos=memos, goes_on=goes_on)
    portions: list[list[PayoutLine]] = []
    start, size = 0, most
    while start < len(lines):
        part = lines[start : start + size]
        share = await weigher.share(part)
        while share > 1 and len(part) > 1:
            part = part[: max(1, min(int(len(part) / share), len(part) - 1))]
            share = await weigher.share(part)
        size = len(part)
        portions.append(part)
        start += len(part)
    if weigher.is_unweighed and len(portions) > 1:
        told.notes.append(
            f"{chain.title} wasn't asked what the payments weigh, so a transaction has at "
            f"most {UNWEIGHED} calls. Connected, it has as many as the chain takes."
        )
    return portions


async def _table_of(app: Application, chain: "Chain") -> "RuntimeTable":
    """Return the runtime of *chain*, or the one at hand if it can't be reached: a payout can be
    written without a network."""
    try:
        return await app.runtime(chain)
    except ChainUnreachable:
        return await app.unconnected().runtime(chain)


class Weigher:
    """Tells how much of the limits of a transaction payments take."""

    def __init__(
        self,
        app: Application,
        chain: "Chain",
        table: "RuntimeTable",
        limits: BatchLimits,
        *,
        memos: bool,
        goes_on: bool,
    ) -> None:
        self._app, self._chain, self._table, self._limits = app, chain, table, limits
        self._memos, self._kind = memos, batch_kind(goes_on)
        #: Whether the chain doesn't tell weights.
        self.is_unweighed = app.settings.offline

    async def share(self, lines: Sequence[PayoutLine]) -> float:
        """Return which part of the limits *lines* take; above 1 it may be too small, where they are
        far too many."""
        calls = await self._app.aside(build_calls, lines, self._table, memos=self._memos)
        if len(calls) > self._limits.calls:
            return len(calls) / self._limits.calls
        data = await self._app.aside(self._encode, calls)
        weight = None if self.is_unweighed else await self._weigh(data)
        return self._limits.share(length=len(data), calls=len(calls), weight=weight)

    def _encode(self, calls: Sequence[Call]) -> bytes:
        return self._table.encode_call(join_calls(self._kind, calls, self._table).call)

    async def _weigh(self, data: bytes) -> Mapping[str, Any] | None:
        """Return what a call weighs, as the chain's dispatch info says; None if it doesn't."""
        from scenarioctl.transactions.simulation.runtime_api import (
            Encoded,
            Inconclusive,
            query_runtime_api,
        )

        length = Encoded(len(data).to_bytes(4, "little"))
        try:
            client = self._app.client(self._chain)
            info = await query_runtime_api(
                client, "TransactionPaymentCallApi", "query_call_info", Encoded(data), length
            )
        except (Inconclusive, ChainUnreachable, ChainRefused):
            self.is_unweighed = True
            return None
        found: Mapping[str, Any] = info["weight"]
        return found


class PayoutTotal(AmountAnswer):
    chain: str


class PayoutBalance(PayoutTotal):
    """What the sender can spend of an asset once all is paid, without the fees."""

    #: How much it lacks; null if it has enough.
    lacks: AmountAnswer | None
    #: How many endpoints it rests on.
    asked: Literal[1, 2]


async def check_deposits(
    app: Application, lines: Sequence[PayoutLine], told: Told, *, goes_on: bool
) -> None:
    """Refuse payments below the existential deposit to accounts that hold none yet; what isn't
    known is a warning."""
    mistakes: list[Mistake] = []
    for part in by_chain(lines).values():
        chain = part[0].chain
        table = app.known_runtime(chain)
        small = below_deposit(part, table)
        poor = (
            await _poor_among(app, small[:_MOST_ASKED])
            if small and not app.settings.offline
            else None
        )
        if poor is None or len(small) > _MOST_ASKED:
            told.warnings += warn_of_deposits(part, table, batch_kind(goes_on))
        for each in poor or ():
            sentence = (
                f"line {each.number}, amount {each.amount} is below the existential deposit of "
                f"{each.asset.display_name} on {chain.title}, and the account holds none yet"
            )
            mistakes.append(Mistake(line=each.number, column="amount", sentence=sentence))
    if mistakes:
        raise mistakes_error(mistakes)


async def _poor_among(app: Application, lines: Sequence[PayoutLine]) -> list[PayoutLine] | None:
    """Return those of *lines*, of one chain, whose account holds nothing of the asset; None if the
    chain doesn't tell."""
    from scenarioctl.transactions.simulation.runtime_api import Inconclusive, free_balance

    try:
        client = app.client(lines[0].chain)
        held = await asyncio.gather(
            *(free_balance(client, each.asset, each.account) for each in lines)
        )
    except (Inconclusive, ChainUnreachable, ChainRefused):
        return None
    return [each for each, free in zip(lines, held, strict=True) if not free]


async def read_left(
    app: Application, sender: str, lines: Sequence[PayoutLine], told: Told
) -> list[PayoutBalance] | None:
    """Return what the sender, or who they act for, can spend of each asset once all is paid; None
    if no chain is asked."""
    if not sender:
        return None
    rows: list[PayoutBalance] = []
    for part in by_chain(lines).values():
        chain = part[0].chain
        account = app.mover(parse_sender(sender, chain))
        if app.settings.offline:
            continue
        for asset, total in sum_lines(part).items():
            found = await _read_free(app, chain, asset, account)
            if found is None:
                told.warnings.append(
                    f"What the sender has of {asset.display_name} on {chain.title} is unknown."
                )
                continue
            free, asked = found
            left, lacks = max(free - total, 0), max(total - free, 0)
            rows.append(
                {
                    "chain": chain.name,
                    **amount_of(asset, left),
                    "lacks": amount_of(asset, lacks) if lacks else None,
                    "asked": asked,
                }
            )
            if lacks:
                told.warnings.append(
                    f"The sender can spend {asset.amount(free)} on {chain.title}, and the "
                    f"payout needs {asset.amount(total)}."
                )
            else:
                told.notes.append(
                    f"After it, the sender can spend {asset.amount(left)} on "
                    f"{chain.title}, less the fees."
                )
    return None if app.settings.offline else rows


async def _read_free(
    app: Application, chain: "Chain", asset: "Asset", account: bytes
) -> tuple[int, Literal[1, 2]] | None:
    """Return what *account* can spend of *asset*, and how many endpoints say so; None if that isn't
    known."""
    from scenarioctl.chains.confirmation import confirm
    from scenarioctl.transactions.simulation.runtime_api import Clients, Inconclusive, free_balance

    async def ask(clients: Clients) -> int:
        try:
            return await free_balance(clients(chain), asset, account)
        except Inconclusive as problem:
            raise ChainUnreachable(str(problem)) from None

    try:
        found = await confirm(app.pool, ask, say=asset.amount)
        return found.agreed(), found.asked
    except (ChainUnreachable, ChainRefused):
        return None


def amount_of(asset: "Asset", value: int) -> AmountAnswer:
    return Amount(value=value, asset=asset.display_name, decimals=asset.decimals).answer()
