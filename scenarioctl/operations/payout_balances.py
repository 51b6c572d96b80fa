"""Whether the accounts of a payout can receive and pay what its lines say: deposits of the
receivers, and what the sender has."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from scenarioctl.actions.payout import batch_kind, below_deposit, warn_of_deposits
from scenarioctl.actions.payout_lines import Mistake, PayoutLine, mistakes_error, sum_lines
from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, ChainUnreachable
from scenarioctl.model.checks import Amount
from scenarioctl.model.json_types import AmountAnswer
from scenarioctl.operations.built_transactions import parse_sender
from scenarioctl.operations.payout_portions import Told, by_chain

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain

#: Receivers whose balance is asked for, because they get less than the existential deposit.
_MOST_ASKED = 200


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
    import asyncio

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
