"""Addresses with names, and accounts that others act for: multisigs and proxied accounts."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.request_fields import could_be_address, normalized

#: The longest name, in characters.
LONGEST = 60
#: An address as pages and this program cut it.
_CUT = re.compile(r"(?=\w*\d)(?=\w*[A-Z])\w{4,}(?:…|\.{2,3})\w{4,}")
#: Small letters of Cyrillic and Greek, and digits, each before the Latin letter that it looks like.
_PAIRS = (
    "0o 1l il ıl аa еe оo рp сc уy хx кk мm тt нh вb іl јj ѕs ԁd һh ӏl ԛq ԝw αa βb εe ζz "
    "ηh ιl κk μm νn οo ρp τt υy χx γy"
)
_ALIKE = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}


@dataclass(frozen=True, kw_only=True)
class NamedAddress:
    """An account with its name."""

    name: str
    #: The account in 0x hex: one for all its spellings.
    account: str
    #: As it was given.
    address: str
    #: Whether it is one's own, whose balances are shown.
    watched: bool = False
    #: What goes around its calls so that others make them, as `Acting.write` writes its layers;
    #: empty for an account whose key signs.
    layers: tuple[Mapping[str, Any], ...] = ()
    #: When it was added, in nanoseconds since 1970.
    created: int


def read_name(text: str) -> str:
    """Return the name that *text* is; InvalidRequest if no entry may have it."""
    name = normalized(text)

    def refuse(problem: str) -> InvalidRequest:
        expected = f"1 to {LONGEST} printable characters, no commas and no {{{{"
        return InvalidRequest(
            field="name", value=text, limit=80, problem=problem, expected=expected
        )

    if not name:
        raise refuse("is empty")
    if len(name) > LONGEST:
        raise refuse(f"has {len(name)} characters")
    if could_be_address(name) or _CUT.fullmatch(name):
        raise refuse("looks like an address, which a name must not hide")
    if not name.isprintable() or "," in name or "{{" in name:
        raise refuse("cannot name an address")
    return name


def appearance(name: str) -> str:
    """Return what names that are easily confused have in common."""
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", name).casefold() if letter.isalnum()
    ).translate(_ALIKE)
    return plain.replace("rn", "m").replace("vv", "w") or name


#: So many layers may lie around a call: a multisig that is the proxy of a pure proxy has two.
DEEPEST = 4
#: The most signatories of a multisig, as chains limit them.
MOST_SIGNATORIES = 100


@dataclass(frozen=True, kw_only=True)
class ProxyLayer:
    """A proxy makes the call as *real*."""

    real: bytes
    #: The type of proxy that the chain has to know; empty for any that lets the call through.
    type: str = ""

    @property
    def account(self) -> bytes:
        return self.real

    def write(self) -> dict[str, Any]:
        return {"proxy_of": "0x" + self.real.hex(), "type": self.type}


@dataclass(frozen=True, kw_only=True)
class MultisigLayer:
    """So many of the signatories make the call together, as *account*."""

    threshold: int
    #: In the order of their bytes.
    signatories: tuple[bytes, ...]
    account: bytes

    def write(self) -> dict[str, Any]:
        return {
            "threshold": self.threshold,
            "signatories": ["0x" + each.hex() for each in self.signatories],
        }


Layer = ProxyLayer | MultisigLayer


@dataclass(frozen=True, kw_only=True)
class Acting:
    """Who acts for whom: the account whose money moves, and what goes around its calls, innermost
    first."""

    #: As the address book has it.
    name: str
    layers: tuple[Layer, ...]
    #: Who signs, as it was given; empty where that is left to the request.
    signer: str = ""

    @property
    def account(self) -> bytes:
        """The account that makes the call in the end."""
        return self.layers[0].account

    def write(self) -> dict[str, Any]:
        """Return it as JSON, as the address book and scenarios keep it."""
        written = {"name": self.name, "layers": [each.write() for each in self.layers]}
        return {**written, "signer": self.signer} if self.signer else written


def read_acting(value: object, *, field: str) -> Acting:
    """Return what `Acting.write` wrote; InvalidRequest for anything else, since diagrams come from
    anywhere."""
    try:
        fields = cast("dict[str, Any]", value)
        name, layers, signer = fields["name"], fields["layers"], fields.get("signer", "")
        read = tuple(_read_layer(each) for each in layers)
    except (LookupError, TypeError, ValueError, AttributeError):
        name, read, signer = None, (), ""
    is_name = isinstance(name, str) and len(name) <= LONGEST and name.isprintable()
    if not (is_name and isinstance(signer, str) and 0 < len(read) <= DEEPEST):
        raise InvalidRequest(
            field=field,
            problem=f"is not an account that others act for: {shorten(value)}",
            expected="what a scenario that was created with `as` has",
        )
    return Acting(name=name, layers=read, signer=signer)


def _read_layer(value: Mapping[str, Any]) -> Layer:
    if "proxy_of" in value:
        if not isinstance(value["type"], str):
            raise ValueError
        return ProxyLayer(real=_read_account(value["proxy_of"]), type=value["type"])
    threshold = value["threshold"]
    if type(threshold) is not int:
        raise ValueError
    return multisig([_read_account(each) for each in value["signatories"]], threshold)


def _read_account(text: str) -> bytes:
    account = bytes.fromhex(text.removeprefix("0x"))
    if len(account) not in (20, 32):
        raise ValueError(text)
    return account


def multisig(signatories: Sequence[bytes], threshold: int) -> MultisigLayer:
    """Return the multisig of *signatories*, with the account that the pallet Multisig gives it on
    every chain.

    InvalidRequest if there can be none. Source: `multi_account_id` of pallet-multisig of
    polkadot-sdk, read 2026-11-27.
    """
    from hashlib import blake2b

    if not 1 <= threshold <= MOST_SIGNATORIES:
        raise _bad_threshold(threshold, MOST_SIGNATORIES)
    members = sorted(set(signatories))
    if len(members) < len(signatories):
        raise InvalidRequest(
            field="signatories", problem="has an account twice", expected="each once"
        )
    if not 2 <= len(members) <= MOST_SIGNATORIES or len({len(each) for each in members}) > 1:
        raise InvalidRequest(
            field="signatories",
            problem=f"has {len(members)} accounts",
            expected=f"2 to {MOST_SIGNATORIES} accounts of one length",
        )
    if threshold > len(members):
        raise _bad_threshold(threshold, len(members))
    # Fewer than 64 have a compact length of one byte.
    count = (
        bytes((len(members) << 2,))
        if len(members) < 64
        else (len(members) << 2 | 1).to_bytes(2, "little")
    )
    data = b"modlpy/utilisuba" + count + b"".join(members) + threshold.to_bytes(2, "little")
    account = blake2b(data, digest_size=32).digest()[: len(members[0])]
    return MultisigLayer(threshold=threshold, signatories=tuple(members), account=account)


def pure_account(
    creator: bytes, proxy_type: bytes, *, block: int, extrinsic: int, index: int
) -> bytes:
    """Return the account without a key that *creator* made in that extrinsic of that block, as one
    of the pallet Proxy's.

    *proxy_type* is the encoded type. Source: `pure_account` of pallet-proxy of polkadot-sdk, read
    2026-11-27.
    """
    from hashlib import blake2b

    place = block.to_bytes(4, "little") + extrinsic.to_bytes(4, "little")
    data = b"modlpy/proxy____" + creator + place + proxy_type + index.to_bytes(2, "little")
    return blake2b(data, digest_size=32).digest()[: len(creator)]


def derivative_account(account: bytes, index: int) -> bytes:
    """Return the account as which *account* makes the call of `Utility.as_derivative`.

    Source: `derivative_account_id` of pallet-utility of polkadot-sdk, read 2026-11-28.
    """
    from hashlib import blake2b

    data = b"modlpy/utilisuba" + account + index.to_bytes(2, "little")
    return blake2b(data, digest_size=32).digest()[: len(account)]


def _bad_threshold(threshold: int, most: int) -> InvalidRequest:
    return InvalidRequest(
        field="threshold",
        value=threshold,
        problem=f"can't be reached by {most} signatories",
        expected=f"a number from 1 to {most}",
    )
