"""Locations of assets and chains, as text and as the Location of XCM.

`1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)` is: one level up, then down through the
junctions. `0/Here` is the chain itself, `1/Here` its relay chain.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import read_digits

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain

#: Names of the XCM pallet: parachains use the first, relay chains the second.
XCM_PALLETS = ("PolkadotXcm", "XcmPallet")
_NUMBERED = {"Parachain": 2**32 - 1, "PalletInstance": 2**8 - 1, "GeneralIndex": 2**128 - 1}
#: As XCM numbers them.
_JUNCTION_ORDER = (
    "Parachain",
    "AccountKey20",
    "PalletInstance",
    "GeneralIndex",
    "GeneralKey",
    "GlobalConsensus",
)
_NETWORK_ORDER = ("Polkadot", "Kusama", "Ethereum")
_EXPECTED = "one like 1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984) or 1/Here"


def read_location(text: str, *, field: str = "location") -> dict[str, Any]:
    """Return the Location that *text* writes, shaped for XCM V4 and V5 (`X1` holds a list)."""
    parents, _, path = text.partition("/")
    if parents not in ("0", "1", "2") or not path:
        raise InvalidRequest(
            field=field, value=text, limit=120, problem="is not a location", expected=_EXPECTED
        )
    junctions = (
        [] if path == "Here" else [_read_junction(part, text, field) for part in path.split("/")]
    )
    if len(junctions) > 8:
        raise InvalidRequest(
            field=field,
            value=text,
            limit=120,
            problem=f"has {len(junctions)} junctions, XCM has at most 8",
        )
    return {"parents": int(parents), "interior": interior(junctions)}


def write_location(location: Any) -> str:
    """Return a Location as text, of any XCM version from 3 on; "" for one that has no such text."""
    if isinstance(location, dict) and set(location) == {"Concrete"}:
        location = location["Concrete"]
    if not isinstance(location, dict) or set(location) != {"parents", "interior"}:
        return ""
    inner = location["interior"]
    if inner == "Here":
        return f"{location['parents']}/Here"
    if not isinstance(inner, dict) or len(inner) != 1:
        return ""
    junctions = next(iter(inner.values()))
    parts = [
        _write_junction(item)
        for item in (junctions if isinstance(junctions, list) else [junctions])
    ]
    return f"{location['parents']}/{'/'.join(parts)}" if all(parts) else ""


def junctions_of(location: Any) -> list[Any]:
    """Return the junctions of a Location of XCM, of any version from 3 on."""
    inner = location["interior"]
    junctions = next(iter(inner.values())) if isinstance(inner, Mapping) else []
    return junctions if isinstance(junctions, list) else [junctions]


def split_account(location: Any) -> tuple[str, bytes | None]:
    """Return where the chain of an account is, seen from where its *location* is written, and the
    account.

    The account is None for a location that is no account's.
    """
    *rest, last = junctions_of(location) or [None]
    name, fields = next(iter(last.items())) if isinstance(last, dict) else (str(last), {})
    if name not in ("AccountId32", "AccountKey20"):
        return "", None
    place = write_location({"parents": location["parents"], "interior": interior(rest)})
    return place, fields["id"] if name == "AccountId32" else fields["key"]


def located_accounts(value: Any) -> Iterator[bytes]:
    """Give the account of every junction in a program or location; a topic or an asset's key may be
    as long as one."""
    if isinstance(value, Mapping):
        for form in ACCOUNT_FORMATS.values():
            if form.junction_name in value:
                yield value[form.junction_name][form.junction_field]
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from located_accounts(item)


def interior(junctions: list[Any]) -> Any:
    """Return the junctions as XCM's `Here`, `X1`, `X2`, …"""
    return {f"X{len(junctions)}": junctions} if junctions else "Here"


def location_order(text: str) -> tuple[Any, ...]:
    """Return what sorts locations as XCM does: by the levels up, the number of junctions, and each
    junction from the first."""
    location = read_location(text)
    junctions = junctions_of(location)
    return (
        location["parents"],
        len(junctions),
        [_junction_order(junction) for junction in junctions],
    )


def absolute(text: str, para_id: int | None) -> str:
    """Return *text*, seen from the parachain *para_id* (None: from the relay), as seen from the
    relay: `` is the relay itself."""
    parents, _, path = text.partition("/")
    path = "" if path == "Here" else path
    up = int(parents)
    if para_id is None:
        up += 1
    elif up == 0:
        own = f"Parachain({para_id})"
        return f"{own}/{path}" if path else own
    return path if up == 1 else f"../{path}"


def seen_from(identity: str, para_id: int | None) -> str:
    """Return a location as the parachain *para_id* (None: the relay chain) sees it: the reverse of
    `absolute`."""
    if identity.startswith("../"):
        return f"{1 if para_id is None else 2}/{identity[3:]}"
    if para_id is None:
        return f"0/{identity or 'Here'}"
    own = f"Parachain({para_id})"
    if identity == own:
        return "0/Here"
    if identity.startswith(f"{own}/"):
        return f"0/{identity[len(own) + 1 :]}"
    return f"1/{identity or 'Here'}"


def across(identity: str, network: str, other: str) -> str:
    """Return an identity that is seen from the relay chain of *network* as the relay chain of
    *other* sees it.

    The networks are named as in `Chain.consensus`; both relay chains see their own network without
    its name.
    """
    if network == other:
        return identity
    if identity.startswith("../"):
        outside = identity[3:]
    else:
        outside = f"GlobalConsensus({network})" + (f"/{identity}" if identity else "")
    own = f"GlobalConsensus({other})"
    if outside == own:
        return ""
    return outside[len(own) + 1 :] if outside.startswith(f"{own}/") else f"../{outside}"


def chain_identity(chain: "Chain") -> str:
    """Return the location of *chain* in its network: `Parachain(1000)`, and `` for the relay
    chain."""
    if chain.role == "relay":
        return ""
    if chain.para_id is None:
        raise InvalidRequest(
            f"{chain.title} has no para_id in the registry, so no message can be sent to it"
        )
    return f"Parachain({chain.para_id})"


def place_of(chain: "Chain", viewer: "Chain") -> str:
    """Return the location of *chain* as *viewer* sees it, which may be beyond a bridge."""
    identity = across(chain_identity(chain), chain.consensus, viewer.consensus)
    return seen_from(identity, viewer.para_id)


def _read_junction(part: str, text: str, field: str) -> Any:
    name, opened, argument = part.partition("(")
    if opened and argument.endswith(")"):
        argument = argument[:-1]
        if name in _NUMBERED:
            number = read_digits(argument)
            if number is not None and number <= _NUMBERED[name]:
                return {name: number}
        elif name == "AccountKey20" and (key := _read_hex(argument)) is not None and len(key) == 20:
            return {name: {"network": None, "key": key}}
        elif (
            name == "GeneralKey" and (key := _read_hex(argument)) is not None and 0 < len(key) <= 32
        ):
            return {name: {"length": len(key), "data": key.ljust(32, b"\0")}}
        elif name == "GlobalConsensus":
            if argument in ("Polkadot", "Kusama"):
                return {name: argument}
            network, _, number_text = argument.partition(":")
            if network == "Ethereum" and (number := read_digits(number_text)) is not None:
                return {name: {"Ethereum": {"chain_id": number}}}
    raise InvalidRequest(
        field=field,
        value=text,
        limit=120,
        problem=f"has the unknown junction {shorten(part)}",
        expected=_EXPECTED,
    )


def _junction_order(junction: Mapping[str, Any]) -> tuple[Any, ...]:
    name, value = next(iter(junction.items()))
    if name == "AccountKey20":
        value = value["key"]
    elif name == "GeneralKey":
        value = (value["length"], value["data"])
    elif name == "GlobalConsensus":
        network = value if isinstance(value, str) else "Ethereum"
        value = (
            _NETWORK_ORDER.index(network),
            0 if network == value else value[network]["chain_id"],
        )
    return _JUNCTION_ORDER.index(name), value


def _write_junction(junction: Any) -> str:
    if not isinstance(junction, dict) or len(junction) != 1:
        return ""
    name, value = next(iter(junction.items()))
    if name in _NUMBERED:
        return f"{name}({value})"
    if name == "AccountKey20" and value["network"] is None:
        return f"{name}(0x{value['key'].hex()})"
    if name == "GeneralKey":
        return f"{name}(0x{value['data'][: value['length']].hex()})"
    if name == "GlobalConsensus":
        if value in ("Polkadot", "Kusama"):
            return f"{name}({value})"
        if isinstance(value, dict) and "Ethereum" in value:
            return f"{name}(Ethereum:{value['Ethereum']['chain_id']})"
    return ""


def _read_hex(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text[2:]) if text.startswith("0x") else None
    except ValueError:
        return None
