"""Receivers that nobody holds the key of: what is sent there stays there, so the caller has to
confirm it.

To add a kind of account, add its test to `kind_of`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest, shorten

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain

#: How a request confirms such a receiver.
CONFIRM = "confirm it with --yes (yes) if you mean it"
#: What stands beside an Ethereum address of 20 bytes that somebody padded to 32.
_EVM_PADDING = bytes(12)
#: How addresses of 20 bytes begin that contracts of the chain itself have, and 0x…dEaD, where
#: people burn tokens.
_LOW = bytes(18)
#: What pallet-revive puts behind one.
_REVIVE_PADDING = b"\xee" * 12


@dataclass(frozen=True, kw_only=True)
class AccountKind:
    """What the bytes of an account tell."""

    #: `account`, `constant`, `pallet`, `parachain`, `relay`, `padded`, or `ethereum` for one that
    #: the key of an Ethereum address controls.
    name: str
    #: In words; empty for an account that looks like any other.
    words: str = ""
    #: Of a pallet its id, of a parachain its number, of an Ethereum address the address, else
    #: empty.
    id: str = ""

    @property
    def is_keyless(self) -> bool:
        """Whether no person can hold its key."""
        return self.name not in ("account", "ethereum")


def kind_of(account: bytes) -> AccountKind:
    """Return the kind of *account*, of 20 or 32 bytes."""
    if len(set(account)) == 1:
        return AccountKind(
            name="constant", words=f"the account of {len(account)} bytes {account[0]:02x}"
        )
    if account[:4] == b"modl":
        id = account[4:12].rstrip(b"\0").decode("ascii", "replace")
        return AccountKind(name="pallet", words=f"the account of the pallet {shorten(id)}", id=id)
    if account[:4] in (b"para", b"sibl") and not any(account[8:]):
        number = int.from_bytes(account[4:8], "little")
        place = "its relay chain" if account[:4] == b"para" else "other parachains"
        words = f"the sovereign account of parachain {number} on {place}"
        return AccountKind(name="parachain", words=words, id=str(number))
    if account == b"Parent".ljust(32, b"\0"):
        return AccountKind(name="relay", words="the sovereign account of the relay chain")
    if len(account) == 20 and account.startswith(_LOW):
        return AccountKind(name="constant", words="an address of zeros but for its end")
    if len(account) != 32:
        return AccountKind(name="ethereum", words="an Ethereum address", id="0x" + account.hex())
    if _EVM_PADDING in (account[:12], account[20:]):
        address = account[:20] if account[20:] == _EVM_PADDING else account[12:]
        words = "an Ethereum address padded with zeros"
        return AccountKind(name="padded", words=words, id="0x" + address.hex())
    if is_evm_account(account):
        words = "the account of an Ethereum address on Hydration"
        return AccountKind(name="ethereum", words=words, id="0x" + account[4:24].hex())
    if account[20:] == _REVIVE_PADDING:
        words = "the account of an Ethereum address on chains with pallet-revive, like Asset Hub"
        return AccountKind(name="ethereum", words=words, id="0x" + account[:20].hex())
    return AccountKind(name="account")


def accounts_of_address(address: bytes) -> tuple[bytes, bytes]:
    """Return the accounts that an Ethereum address has on Hydration and on chains with
    pallet-revive."""
    return b"ETH\0" + address + bytes(8), address + _REVIVE_PADDING


def is_evm_account(account: bytes) -> bool:
    """Tell whether *account*, of 32 bytes, is the one that Hydration gives an Ethereum address."""
    return account.startswith(b"ETH\0") and account.endswith(bytes(8))


def describe_keyless(account: bytes) -> str:
    """Return what *account* is if no person can hold its key; empty for all others."""
    kind = kind_of(account)
    return kind.words if kind.is_keyless else ""


def read_receiver(value: object, chain: "Chain", *, field: str, confirmed: bool) -> bytes:
    """Return the account on *chain* that *value* names, a receiver that somebody holds or that is
    *confirmed*."""
    account = chain.account_format.parse(value, field=field)
    check_receiver(account, value, field=field, confirmed=confirmed, confirm=CONFIRM)
    return account


def check_receiver(
    account: bytes, given: object, *, field: str, confirmed: bool, confirm: str
) -> None:
    """Refuse a receiver that nobody holds unless it is *confirmed*; *confirm* tells how to do
    that."""
    kind = "" if confirmed else describe_keyless(account)
    if kind:
        raise InvalidRequest(
            field=field,
            value=given,
            limit=80,
            problem=f"is {kind}, and nobody holds its key: funds sent there are lost",
            advice=f"; {confirm}",
            details={"confirm": "yes"},
        )
