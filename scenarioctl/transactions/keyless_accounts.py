"""Receivers that nobody holds the key of: what is sent there stays there, so the caller has to
confirm it.

Whether somebody holds it depends on the chain: `describe_keyless` answers that for each.

To add a kind of account, add its test to `kind_of`; to add a pallet that gives accounts to Ethereum
addresses, add a row to `_MAPPINGS` and name it in the trust facts of its chains.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from scenarioctl.chains.addresses import ACCOUNT_KEY_20, format_account, format_of
from scenarioctl.chains.trust import trust_of
from scenarioctl.errors import InvalidRequest, shorten

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: How a request confirms such a receiver.
CONFIRM = "Confirm it with `yes` if you mean it."
#: A pallet -> what it puts before and behind an Ethereum address to make an account that the
#: address's key controls, and where there is such a pallet.
_MAPPINGS: Mapping[str, tuple[bytes, bytes, str]] = {
    "EVMAccounts": (b"ETH\0", bytes(8), "Hydration"),
    "EvmAccounts": (b"evm:", bytes(8), "Acala and Karura"),
    "Revive": (b"", b"\xee" * 12, "chains with pallet-revive, like Asset Hub"),
}


class AccountKind(NamedTuple):
    """What the bytes of an account tell."""

    #: `account`, `constant`, `placeholder`, `pallet`, `parachain`, `relay`, `padded`, or `ethereum`
    #: for one that the key of an Ethereum address controls.
    name: str
    #: In words; empty for an account that looks like any other.
    words: str = ""
    #: Of a pallet its id, of a parachain its number, of an Ethereum address the address, else
    #: empty.
    id: str = ""
    #: The pallet by which the key of an Ethereum address controls it, on chains that have it; empty
    #: for others.
    pallet: str = ""

    @property
    def is_keyless(self) -> bool:
        """Whether no person can hold its key, on any chain."""
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
    if account == b"Parent".ljust(len(account), b"\0"):
        return AccountKind(name="relay", words="the sovereign account of the relay chain")
    # Contracts of the chain itself have such, and 0x…dEaD, where people burn tokens.
    if len(account) == 20 and not any(account[:18]):
        return AccountKind(name="constant", words="an address of zeros but for its end")
    for pallet, (head, tail, where) in _MAPPINGS.items():
        address = account[len(head) :][:20]
        if account == head + address + tail:
            kind, words = kind_of(address), f"the account of an Ethereum address on {where}"
            beside = f", {kind.words}" if kind.is_keyless else ""
            return kind._replace(words=words + beside, pallet=pallet)
    if pattern := _pattern(account):
        return AccountKind(name="placeholder", words=f"a placeholder: the bytes {pattern}")
    if len(account) != 32:
        return AccountKind(name="ethereum", words="an Ethereum address", id="0x" + account.hex())
    if not (any(account[:12]) and any(account[20:])):
        address = account[:20] if any(account[:12]) else account[12:]
        return AccountKind(
            name="padded", words="an Ethereum address padded with zeros", id="0x" + address.hex()
        )
    return AccountKind(name="account")


def _pattern(account: bytes) -> str:
    """Return what pattern *account* is of those that no key or hash has; empty if it is none."""
    text = account.rstrip(b"\0").decode("ascii", "replace")
    if text.isascii() and text.isprintable():
        return f"spell '{text}'"
    if len({(after - before) % 256 for before, after in pairwise(account)}) == 1:
        return f"count from {account[0]:02x} to {account[-1]:02x}"
    for size in range(1, len(account) // 2 + 1):
        if account[size:] == account[:-size]:
            return f"repeat {account[:size].hex()}"
    return ""


def accounts_of_address(address: bytes) -> list[bytes]:
    """Return the accounts that an Ethereum address has on chains that give it one."""
    return [head + address + tail for head, tail, _ in _MAPPINGS.values()]


def mapping_pallet(chain: "Chain", table: "RuntimeTable | None" = None) -> str:
    """Return the pallet of *chain* that gives accounts to Ethereum addresses; empty if none is
    known.

    The facts about the chain tell, and its runtime's *table*, if that is at hand, whether it is
    there: a pallet of the same name can map otherwise, as Bifrost's EVMAccounts does.
    """
    facts = trust_of(chain)
    known = "" if facts is None else facts.ethereum_accounts
    if table is None:
        return known
    return next((each for each in (known, "Revive") if each in table.pallets), "")


def describe_keyless(account: bytes, chain: "Chain", table: "RuntimeTable | None" = None) -> str:
    """Return what *account* is, and that nobody holds its key on *chain*; empty if somebody can.

    *table* is the runtime of the chain, if it is at hand.
    """
    kind = kind_of(account)
    if kind.is_keyless:
        return f"{kind.words}, and nobody holds its key: funds sent there are lost"
    if kind.pallet and kind.pallet != mapping_pallet(chain, table):
        return (
            f"{kind.words}, and nobody is known to hold its key on {chain.title}: funds sent there "
            "can be lost"
        )
    return ""


def parse_receiver(value: object, chain: "Chain", *, field: str) -> bytes:
    """Return the account on *chain* that *value* names.

    The error of an Ethereum address says which account its key has there.
    """
    is_other = isinstance(value, str) and format_of(value) is not chain.account_format
    if is_other and (pallet := mapping_pallet(chain)):
        head, tail, _ = _MAPPINGS[pallet]
        address = ACCOUNT_KEY_20.parse(value, field=field)
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is an EVM address of 20 bytes",
            expected=(
                f"the account that its key has on {chain.title}: "
                f"{format_account(head + address + tail, chain.ss58_prefix)}"
            ),
        )
    return chain.account_format.parse(value, field=field)


def read_receiver(value: object, chain: "Chain", *, field: str, confirmed: bool) -> bytes:
    """Return the account on *chain* that *value* names, a receiver that somebody holds or that is
    *confirmed*."""
    account = parse_receiver(value, chain, field=field)
    check_receiver(account, chain, value, field=field, confirmed=confirmed, confirm=CONFIRM)
    return account


def check_receiver(
    account: bytes, chain: "Chain", given: object, *, field: str, confirmed: bool, confirm: str
) -> None:
    """Refuse a receiver on *chain* that nobody holds unless it is *confirmed*; *confirm* tells how
    to do that."""
    if not confirmed and (keyless := describe_keyless(account, chain)):
        raise InvalidRequest(
            field=field,
            value=given,
            limit=80,
            problem=f"is {keyless}",
            advice=confirm,
            details={"confirm": "yes"},
        )
