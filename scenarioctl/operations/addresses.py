"""What the text of an address tells, without asking a chain; and the address book."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, NotFound, meant
from scenarioctl.model.acting import NamedAddress, read_name
from scenarioctl.model.json_types import SHOWN, Column, Hex, Timestamp, timestamp
from scenarioctl.model.request_fields import Address, ChainName, Value, normalized
from scenarioctl.operations.results import Done, Result

if TYPE_CHECKING:
    from scenarioctl.model.acting import Layer
    from scenarioctl.transactions.keyless_accounts import AccountKind

__all__ = ["add_address", "list_addresses", "remove_address", "show_address"]


@dataclass(frozen=True, kw_only=True)
class ShowAddress:
    """Show what an address tells: its public key, its kind, and its spelling on every known
    chain."""

    #: SS58 with any prefix, 0x hex of 32 or 20 bytes, or a name of the address book.
    address: Address


#: `account`: like any other, of a key, a multisig, a proxy or derived, which the bytes don't tell.
#: `pallet`, `parachain` and `relay`: sovereign accounts of those. `ethereum`: controlled by the key
#: of an Ethereum address. `padded`: an Ethereum address that somebody filled up with zeros.
#: `constant`: the same byte throughout, or 20 bytes of zeros but for the last two. `placeholder`: a
#: text, or bytes that count or repeat.
AddressKind: TypeAlias = Literal[
    "account", "pallet", "parachain", "relay", "ethereum", "padded", "constant", "placeholder"
]


class Spelling(TypedDict):
    address: Annotated[str, SHOWN]
    #: The SS58 prefix; null for 0x hex.
    prefix: Annotated[int | None, SHOWN]
    #: The known chains that write it so.
    chains: Annotated[list[str], SHOWN]


class AddressDetails(TypedDict):
    #: The public key or account id of 32 bytes, or the account of 20.
    account: Annotated[Hex, SHOWN]
    #: The SS58 prefix that was given; null for 0x hex.
    prefix: int | None
    kind: AddressKind
    #: The kind in a sentence.
    description: Annotated[str, Column("kind")]
    #: Of a pallet its id, of a parachain its number, of an Ethereum account the address; null
    #: otherwise.
    id: str | None
    #: Whether nobody can hold its key.
    keyless: bool
    #: Signatures for which these bytes can be the public key, or its hash (`ecdsa`); empty if
    #: keyless.
    possible_keys: Annotated[list[Literal["sr25519", "ed25519", "ecdsa"]], SHOWN]
    addresses: Annotated[list[Spelling], SHOWN]


async def show_address(app: Application, request: ShowAddress) -> Result[AddressDetails]:
    from scenarioctl.chains.addresses import parse_any_account
    from scenarioctl.transactions.keyless_accounts import kind_of

    account, prefix = parse_any_account(request.address, field="address")
    kind = kind_of(account)
    keys = _possible_keys(account, kind)
    return Result(
        answer={
            "account": "0x" + account.hex(),
            "prefix": prefix,
            "kind": kind.name,  # type: ignore[typeddict-item]
            "description": _describe(app, kind, keys),
            "id": kind.id or None,
            "keyless": kind.is_keyless,
            "possible_keys": keys,
            "addresses": _spellings(app, account),
        }
    )


def _possible_keys(
    account: bytes, kind: "AccountKind"
) -> list[Literal["sr25519", "ed25519", "ecdsa"]]:
    """Return the schemes whose public key these bytes can be; one of ecdsa is hashed, which can be
    any bytes."""
    if kind.is_keyless:
        return []
    if kind.name == "ethereum":
        return ["ecdsa"]
    import sr25519
    from ecdsa import Ed25519, VerifyingKey
    from ecdsa.errors import MalformedPointError

    found: list[Literal["sr25519", "ed25519", "ecdsa"]] = []
    try:
        # With the mark of a Schnorr signature; the answer doesn't matter, only whether the key is a
        # point of the curve.
        sr25519.verify(bytes(63) + b"\x80", b"", account)
        found.append("sr25519")
    except ValueError:
        pass
    try:
        VerifyingKey.from_string(account, curve=Ed25519)
        found.append("ed25519")
    except MalformedPointError:
        pass
    return [*found, "ecdsa"]


def _describe(app: Application, kind: "AccountKind", keys: Sequence[str]) -> str:
    if kind.name == "parachain":
        named = [chain.title for chain in app.registry.all() if str(chain.para_id) == kind.id]
        return f"{kind.words} ({' or '.join(named)})" if named else kind.words
    if kind.words:
        return kind.words
    if list(keys) == ["ecdsa"]:
        return (
            "an account that is not an sr25519 or ed25519 key: a multisig, a proxy, a derived "
            "account, or the hash of an ecdsa key"
        )
    return "an account; its bytes don't tell whether a key, a multisig or a proxy controls it"


def _spellings(app: Application, account: bytes) -> list[Spelling]:
    from scenarioctl.chains.addresses import ACCOUNT_FORMATS, GENERIC

    written = ACCOUNT_FORMATS[len(account)]
    if written.junction_name != "AccountId32":
        chains = [chain.name for chain in app.registry.all() if chain.account_format is written]
        return [{"address": written.format(account, 0), "prefix": None, "chains": chains}]
    prefixes: dict[int, list[str]] = {}
    for chain in app.registry.all():
        if chain.account_format is written:
            prefixes.setdefault(chain.ss58_prefix, []).append(chain.name)
    prefixes.setdefault(GENERIC, [])
    return [
        {"address": written.format(account, prefix), "prefix": prefix, "chains": prefixes[prefix]}
        for prefix in sorted(prefixes)
    ]


_Name = Annotated[str, Value("NAME", complete="ADDRESS")]


@dataclass(frozen=True, kw_only=True)
class AddAddress:
    """Give an account a name in the address book, or change whether the account of that name is
    watched.

    A name goes wherever an address goes. It means one account, and an account has one name. Of a
    multisig, or an account that has proxies, the book also keeps who acts for it: a transaction is
    made as that account with `as`, its name.
    """

    #: 1 to 60 characters; not one that is easily confused with another name, or with an address.
    name: _Name
    #: SS58 with any prefix, or 0x hex of 32 or 20 bytes. That of a multisig is computed.
    address: str = ""
    #: It is an account of your own: its balances are shown on the page.
    watch: bool = False
    #: It is a multisig: so many of its signatories must approve what it does.
    threshold: Annotated[int | None, Value("N", least=1, most=100)] = None
    #: The signatories of the multisig: their addresses, or names of the address book.
    signatories: Annotated[tuple[str, ...], Value("ADDRESS", is_account=True)] = ()
    #: It is this account, a pure proxy or any other, and proxies act for it.
    proxy_of: Address = ""
    #: It is the pure proxy that this account made: its address is computed of that, `type`, `at`
    #: and `index`.
    pure_of: Address = ""
    #: The block and the transaction in it that made the pure proxy, as `tx status` has them under
    #: `created`. On Asset Hubs the block is one of the relay chain.
    at: Annotated[str, Value("BLOCK-INDEX")] = ""
    #: Which of several it is that were made at once.
    index: Annotated[str | int, Value("N", least=0, most=65535)] = ""
    #: Where the pure proxy was made, for a type other than Any: each chain numbers them in its own
    #: way.
    chain: ChainName = ""
    #: The type of proxy that acts for it, like Any or NonTransfer. Default: any that lets the call
    #: through; of a pure proxy Any.
    type: str = ""
    #: Who is its proxy, or a signatory of it, is itself one of the address book for whom others
    #: act: the name of that multisig.
    through: Annotated[str, Value("NAME", complete="ADDRESS")] = ""


class AddressRow(TypedDict):
    name: Annotated[str, SHOWN]
    #: As it was given.
    address: Annotated[str, SHOWN]
    #: The public key or account id of 32 bytes, or the account of 20: the same for all its
    #: spellings.
    account: Hex
    watched: Annotated[bool, SHOWN]
    #: Who acts for it, in words; empty if its own key signs.
    acting: Annotated[str, SHOWN]
    #: The same as data, what goes around its calls: `threshold` and `signatories`, or `proxy_of`
    #: and `type`, innermost first.
    layers: list[dict[str, Any]]
    #: When it was added.
    created: Timestamp


async def add_address(app: Application, request: AddAddress) -> Result[AddressRow]:
    from scenarioctl.chains.addresses import parse_any_account
    from scenarioctl.operations.acting_accounts import write_address
    from scenarioctl.transactions.keyless_accounts import kind_of

    name = read_name(request.name)
    _refuse_hidden_address(name)
    book = await app.store.addresses().list()
    layers = _read_layers(await _compute_pure(app, request), book)
    address = request.address.strip() or (write_address(layers) if layers else "")
    if not address:
        raise InvalidRequest(
            field="address",
            problem="is missing",
            expected="an address, a multisig, or the account that has proxies",
        )
    account, _ = parse_any_account(address, field="address")
    if layers and account != layers[0].account:
        raise InvalidRequest(
            field="address",
            value=request.address,
            limit=80,
            problem=f"is another account than {write_address(layers)}, which that makes: omit it",
        )
    known = next(
        (each for each in book if (each.name, each.account) == (name, "0x" + account.hex())), None
    )
    entry = NamedAddress(
        name=name,
        account="0x" + account.hex(),
        address=address,
        watched=request.watch,
        # Whether it is watched may change alone.
        layers=tuple(each.write() for each in layers)
        or (known.layers if known is not None else ()),
        created=app.clock(),
    )
    await app.store.addresses().put(entry)
    kind = kind_of(account)
    notes = [_COMPUTED] if request.pure_of else []
    if kind.is_keyless:
        notes.append(f"Nobody can sign for this account: it is {_describe(app, kind, ())}.")
    elif kind.pallet:
        notes.append(f"This is {kind.words}. On other chains nobody is known to hold its key.")
    return Result(answer=_row(entry, book), notes=tuple(notes))


def _refuse_hidden_address(name: str) -> None:
    """Refuse an address with something between its characters: pasted so, it would mean the account
    of that name."""
    from scenarioctl.chains.addresses import parse_any_account

    try:
        parse_any_account("".join(each for each in name if each.isalnum()), field="name")
    except InvalidRequest:
        return
    raise InvalidRequest(
        field="name",
        value=name,
        limit=80,
        problem="is an address with something in between, which a name must not hide",
        expected="another name",
    )


_COMPUTED = (
    "The address was computed, and no chain was asked whether there is such a pure proxy. "
    "On an Asset Hub it comes from a block of"
    " the relay chain. Compare it with what tx status or an explorer says before you send "
    "anything there."
)


_PLACE = re.compile(r"([0-9]{1,10})-([0-9]{1,10})")


async def _compute_pure(app: Application, request: AddAddress) -> AddAddress:
    """Return *request* with the account of a pure proxy in place of what it is computed of."""
    from scenarioctl.chains.addresses import parse_any_account
    from scenarioctl.model.acting import pure_account
    from scenarioctl.model.amounts import read_number
    from scenarioctl.transactions.call_builder import encode_proxy_type

    if not request.pure_of:
        for field in ("at", "index", "chain"):
            if getattr(request, field) != "":
                raise InvalidRequest(field=field, problem="needs pure_of")
        return request
    if request.proxy_of:
        raise InvalidRequest(
            field="pure_of", problem="and proxy_of are both given", expected="only one"
        )
    creator, _ = parse_any_account(request.pure_of, field="pure_of")
    expected = "one like 24000000-2, as tx status has it"
    if not request.at.strip():
        raise InvalidRequest(field="pure_of", problem="needs at", expected=expected)
    found = _PLACE.fullmatch(request.at.strip())
    block, extrinsic = map(int, found.groups()) if found else (2**32, 0)
    if max(block, extrinsic) >= 2**32:
        raise InvalidRequest(
            field="at",
            value=request.at,
            problem="is not a block and a transaction in it",
            expected=expected,
        )
    index = read_number(
        request.index or 0,
        field="index",
        kind="a number of a pure proxy",
        expected="0 to 65535",
        most=65535,
    )
    kind = request.type.strip() or "Any"
    if request.chain:
        table = await app.runtime(app.registry.find(request.chain))
        encoded = encode_proxy_type(kind, table)
    elif kind.lower() == "any":
        # The first on every chain, so that a proxy may do as much as the account.
        encoded = b"\0"
    else:
        raise InvalidRequest(
            field="chain", problem=f"is missing: each chain numbers the type {kind} in its own way"
        )
    account = pure_account(creator, encoded, block=block, extrinsic=extrinsic, index=index)
    return replace(request, proxy_of="0x" + account.hex(), pure_of="")


def _read_layers(request: AddAddress, book: "Sequence[NamedAddress]") -> "tuple[Layer, ...]":
    from scenarioctl.operations.acting_accounts import read_layers

    known = {each.name: each for each in book if each.layers}
    through = normalized(request.through)
    if through and through not in known:
        raise InvalidRequest(
            field="through",
            value=request.through,
            problem="is not in the address book as a multisig or an account with proxies",
            known=list(known) or None,
        )
    return read_layers(
        threshold=request.threshold,
        signatories=request.signatories,
        proxy_of=request.proxy_of,
        type=request.type.strip(),
        through=known.get(through),
    )


@dataclass(frozen=True, kw_only=True)
class ListAddresses:
    """List the address book: accounts with names."""


class AddressList(TypedDict):
    addresses: Annotated[list[AddressRow], SHOWN]


async def list_addresses(
    app: Application,
    request: ListAddresses,  # noqa: ARG001
) -> Result[AddressList]:
    book = await app.store.addresses().list()
    return Result(answer={"addresses": [_row(each, book) for each in book]})


@dataclass(frozen=True, kw_only=True)
class RemoveAddress:
    """Remove a name from the address book. Scenarios that were created with it keep their
    address."""

    name: _Name


async def remove_address(app: Application, request: RemoveAddress) -> Result[Done]:
    book = app.store.addresses()
    name = read_name(request.name)
    if not await book.remove(name):
        known = [each.name for each in await book.list()]
        raise NotFound(
            field="name",
            value=name,
            problem="is not in the address book",
            known=known if meant(name, known) else None,
        )
    return Result(answer={"success": True, "result": f"Removed {name}"})


def _row(entry: NamedAddress, book: Sequence[NamedAddress]) -> AddressRow:
    from scenarioctl.operations.acting_accounts import describe_layers

    return {
        "name": entry.name,
        "address": entry.address,
        "account": entry.account,
        "watched": entry.watched,
        "acting": describe_layers(entry.layers, {each.account: each.name for each in book}),
        "layers": [dict(each) for each in entry.layers],
        "created": timestamp(entry.created),
    }
