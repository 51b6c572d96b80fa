"""Receivers that nobody holds the key of: what is sent there stays there, so the caller has to confirm it.

To add a kind of account, add its test to `describe_keyless`.
"""

from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest, shorten

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain

#: How a request confirms such a receiver.
CONFIRM = "confirm it with --yes (yes) if you mean it"
#: What follows the prefix and the number of a parachain's account.
_PADDING = bytes(24)
#: What stands beside an Ethereum address of 20 bytes that somebody padded to 32.
_EVM_PADDING = bytes(12)


def describe_keyless(account: bytes) -> str:
    """Return what *account* is if no person can hold its key; empty for all others."""
    if len(set(account)) == 1:
        return f"the account of {len(account)} bytes {account[0]:02x}"
    if account[:4] == b"modl":
        name = account[4:12].rstrip(b"\0").decode("ascii", "replace")
        return f"the account of the pallet {shorten(name)}"
    if account[:4] in (b"para", b"sibl") and account[8:] == _PADDING:
        return f"the sovereign account of parachain {int.from_bytes(account[4:8], 'little')}"
    if account == b"Parent".ljust(32, b"\0"):
        return "the sovereign account of the relay chain"
    if len(account) == 32 and (account[20:] == _EVM_PADDING or account[:12] == _EVM_PADDING):
        return "an Ethereum address padded with zeros"
    return ""


def read_receiver(value: object, chain: "Chain", *, field: str, confirmed: bool) -> bytes:
    """Return the account on *chain* that *value* names, a receiver that somebody holds or that is *confirmed*."""
    account = chain.account_format.parse(value, field=field)
    check_receiver(account, value, field=field, confirmed=confirmed, confirm=CONFIRM)
    return account


def check_receiver(account: bytes, given: object, *, field: str, confirmed: bool, confirm: str) -> None:
    """Refuse a receiver that nobody holds unless it is *confirmed*; *confirm* tells how to do that."""
    kind = "" if confirmed else describe_keyless(account)
    if kind:
        raise InvalidRequest(
            f"{field} {shorten(given, 80)} is {kind}, and nobody holds its key: funds sent there are lost",
            advice=f"; {confirm}",
            details={"confirm": "yes"},
        )
