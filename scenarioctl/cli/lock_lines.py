"""What keeps tokens of an account, in words."""

from collections.abc import Mapping
from typing import Any

from scenarioctl.cli.output import describe_amount, short_time

#: What locks, holds and reserves with names of their own are for.
_LOCKS = {
    "staking": "of staking",
    "pyconvot": "of votes and delegations",
    "vesting": "of vesting",
    "ormlvest": "of vesting",
    "dcaorder": "of DCA orders",
    "Staking.Staking": "of staking",
    "DelegatedStaking.StakingDelegation": "of nomination pools",
}


def say_lock(row: Mapping[str, Any]) -> str:
    """Return a row of `locks` in words."""
    text = (
        f"{describe_amount(row['amount'])} by the {row['kind']} {_LOCKS.get(row['id'], row['id'])}"
    )
    if row["until"] is None:
        return text
    date = short_time(row["estimated"])
    return f"{text} until {f'about {date}' if date else 'block ' + str(row['until'])}"


def say_vote(row: Mapping[str, Any]) -> str:
    """Return a row of `votes` in words."""
    what = (
        f"delegated to {row['delegate']}"
        if row["delegate"]
        else "of removed votes"
        if row["referendum"] is None
        else f"on referendum {row['referendum']}"
    )
    text = f"{describe_amount(row['amount'])} {what}, track {row['track']}: "
    if row["unlockable"]:
        return text + "can be unlocked"
    if row["until"] is None:
        return text + (
            "as long as it is delegated" if row["delegate"] else "as long as the referendum goes on"
        )
    date = short_time(row["estimated"])
    return text + f"until block {row['until']}" + (f", about {date}" if date else "")
