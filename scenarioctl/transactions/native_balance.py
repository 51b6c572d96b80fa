"""What an account holds of its chain's native asset, in the terms of pallet-balances."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.runtime.table import RuntimeTable

#: The constant that is the existential deposit of the native asset, raw.
NATIVE_DEPOSIT = ("Balances", "ExistentialDeposit")


def known_deposit(asset: "Asset", table: "RuntimeTable | None") -> int | None:
    """Return the smallest balance, raw, without asking the chain; of a native asset the one that
    the runtime names."""
    if asset.kind == "native" and table is not None:
        with suppress(InvalidRequest):
            return int(table.constant(*NATIVE_DEPOSIT))
    return asset.existential_deposit


@dataclass(frozen=True, kw_only=True)
class NativeBalance:
    """What an account holds of its chain's native asset, raw."""

    free: int
    reserved: int
    #: What locks and freezes keep in all.
    locked: int
    #: What they keep of the free balance; what is reserved counts towards them.
    frozen: int
    #: Whether something on chain needs the account to exist.
    needed: bool
    existential_deposit: int

    @classmethod
    def read(cls, row: Mapping[str, Any], existential_deposit: int) -> "NativeBalance":
        """Return the balance in *row*, an entry of System.Account."""
        data = row["data"]
        if "frozen" in data:
            locked = int(data["frozen"])
            frozen = max(locked - int(data["reserved"]), 0)
        else:
            # Before holds and freezes, a lock was on the free balance alone.
            locked = frozen = max(int(data.get("misc_frozen", 0)), int(data.get("fee_frozen", 0)))
        reserved = int(data["reserved"])
        # What is reserved or locked counts as a consumer, which an account that is older than that
        # gets with the next transfer.
        consumed = row["consumers"] > 0 or reserved > 0 or locked > 0
        return cls(
            free=int(data["free"]),
            reserved=reserved,
            locked=locked,
            frozen=frozen,
            needed=consumed and row["providers"] <= 1,
            existential_deposit=existential_deposit,
        )

    def spendable(self, *, keep_alive: bool) -> int:
        """Return what the account can spend, if it must stay alive or if it may be closed.

        What is frozen and the existential deposit overlap: only the larger of them stays.
        """
        stays = self.existential_deposit if keep_alive or self.needed else 0
        return max(self.free - max(self.frozen, stays), 0)

    def payable(self, *, keep_alive: bool) -> int:
        """Return what a fee can be taken from.

        A fee that may close the account is taken in an older way, in which nothing counts towards
        locks.
        """
        return self.spendable(keep_alive=True) if keep_alive else max(self.free - self.locked, 0)
