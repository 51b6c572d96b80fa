"""How the lines of a payout become transactions that their chains take: in portions, by the limits
and by what each weighs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.payout import batch_kind, build_calls
from scenarioctl.actions.payout_lines import LineReader, PayoutLine
from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.model.calls import Call
from scenarioctl.transactions.batch_limits import UNWEIGHED, BatchLimits, read_limits
from scenarioctl.transactions.call_builder import join_calls

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Names and lines that a note lists.
_SHOWN = 5


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
