"""`scenarioctl staking`: what an account has at stake, and the transactions of stakers."""

from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import emit, perform
from scenarioctl.cli.lock_lines import say_lock, say_vote
from scenarioctl.cli.output import describe_amount, draw_facts, draw_table, short_time
from scenarioctl.cli.reports import plain_command

_PAYEES = {
    "Staked": "the bond, which grows",
    "Stash": "the account itself",
    "Controller": "its controller",
    "None": "nobody",
}


@click.group(cls=Group)
def staking() -> None:
    """Show what an account has at stake, and build what a staker signs: on an Asset Hub, where
    staking has moved to."""


@staking.command(
    operation="staking.show_staking",
    arguments=("address",),
    example=(
        "scenarioctl staking show 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3 --chain assetHub"
    ),
)
def show(**fields: Any) -> None:
    """Show what an account has at stake: its bond, what unlocks and when, its nomination pool,
    votes, and unclaimed rewards.

    Dates are estimates: eras can be longer than planned. The table lists rewards that no payout has
    paid. Anybody can pay them out, for all nominators of the page.
    """
    result = perform(**fields)
    emit(result.answer, lambda: _draw(result.answer))


def _draw(answer: Mapping[str, Any]) -> None:
    facts = {
        "account": answer["account"],
        "chain": f"{answer['chain']}, block {answer['block']}, era {answer['era']}",
        "bonded": (
            f"{describe_amount(answer['total'])}, of which {describe_amount(answer['active'])} "
            "earn rewards"
        ),
    }
    if answer["unlocking"]:
        facts["unlocking"] = _unlocking(answer["unlocking"])
    if answer["payee"]:
        facts["rewards go to"] = _PAYEES.get(answer["payee"], answer["payee"])
    if answer["commission"] is not None:
        facts["commission"] = f"{answer['commission']} %"
    if answer["nominations"]:
        facts["nominates"] = ", ".join(answer["nominations"])
    pool = answer["pool"]
    if pool:
        facts["pool"] = (
            f"{pool['id']}, with {_known(pool['amount'])}; {_known(pool['pending'])} to claim"
        )
        if pool["unlocking"]:
            facts["pool unlocking"] = _unlocking(pool["unlocking"])
    if answer["locks"]:
        facts["kept"] = "; ".join(map(say_lock, answer["locks"]))
    for number, row in enumerate(answer["votes"], start=1):
        facts[f"vote {number}"] = say_vote(row)
    facts["unclaimed"] = describe_amount(answer["unclaimed_total"])
    draw_facts(facts)
    draw_table(
        ("era", "validator", "page", "amount", "lost about"),
        (
            (
                row["era"],
                row["validator"],
                row["page"],
                describe_amount(row["amount"]),
                short_time(row["estimated_end"]) or "unknown",
            )
            for row in answer["unclaimed"]
        ),
    )


def _known(amount: Mapping[str, Any] | None) -> str:
    return "an unknown amount" if amount is None else describe_amount(amount)


def _unlocking(rows: list[Mapping[str, Any]]) -> str:
    return "; ".join(f"{_known(row['amount'])} {_when(row)}" for row in rows)


def _when(row: Mapping[str, Any]) -> str:
    if row["withdrawable"]:
        return "can be withdrawn"
    date = short_time(row["estimated"])
    return f"from era {row['era']}" + (f", about {date}" if date else "")


staking.add_command(
    plain_command(
        "build",
        "staking_calls.build_staking",
        prints="tx",
        arguments=("action",),
        example="scenarioctl staking build bond --amount 100\n  scenarioctl staking build nominate "
        "--validator 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)
