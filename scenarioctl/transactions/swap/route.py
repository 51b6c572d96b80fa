"""Routes of swaps: the hops through pools, as people write them and as the router takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import read_number

#: As people may type them -> as the runtime has them.
_POOLS = {
    "omnipool": "Omnipool",
    "xyk": "XYK",
    "lbp": "LBP",
    "stableswap": "Stableswap",
    "aave": "Aave",
    "hsm": "HSM",
}
#: The router takes no longer route.
MAX_HOPS = 9
_U32 = 2**32 - 1
_EXPECTED = (
    'hops like [{"pool": "Omnipool", "asset_in": 5, "asset_out": 102}, {"pool": {"Stableswap": 102}, '
    '"asset_in": 102, "asset_out": 10}] or 5>omnipool>102>stableswap:102>10'
)


@dataclass(frozen=True, kw_only=True)
class RouteHop:
    """One trade of a route."""

    #: `Omnipool`, `XYK`, `LBP`, `Aave`, `HSM` or `Stableswap`.
    pool: str
    #: The share asset of a stableswap pool, which is its id; None for the others.
    pool_id: int | None = None
    asset_in: int
    asset_out: int

    def __str__(self) -> str:
        pool = self.pool.lower() if self.pool_id is None else f"{self.pool.lower()}:{self.pool_id}"
        return f"{self.asset_in}>{pool}>{self.asset_out}"

    @property
    def value(self) -> dict[str, Any]:
        """The hop as the runtime takes it."""
        pool = self.pool if self.pool_id is None else {self.pool: self.pool_id}
        return {"pool": pool, "asset_in": self.asset_in, "asset_out": self.asset_out}


def parse_route(value: object, *, field: str) -> tuple[RouteHop, ...]:
    """Return the hops that *value* lists: a JSON list of hops, or text like `5>omnipool>102>stableswap:102>10`."""
    if isinstance(value, str):
        hops = _parse_text(value, field)
    elif isinstance(value, (list, tuple)):
        hops = tuple(
            _parse_hop(item, f"{field}[{place}]") for place, item in enumerate(value[: MAX_HOPS + 1])
        )
    else:
        raise InvalidRequest(field=field, value=value, problem="is not a route", expected=_EXPECTED)
    if not hops:
        raise InvalidRequest(field=field, problem="is empty", expected=_EXPECTED)
    if len(hops) > MAX_HOPS:
        raise InvalidRequest(
            field=field, problem=f"has more than {MAX_HOPS} hops, the router accepts no longer route"
        )
    for place, (hop, after) in enumerate(pairwise(hops)):
        if hop.asset_out != after.asset_in:
            raise InvalidRequest(
                field=f"{field}[{place + 1}]",
                problem=f"sells {after.asset_in}, but the hop before it buys {hop.asset_out}",
                expected="each hop to sell what the one before it buys",
            )
    return hops


def _parse_text(text: str, field: str) -> tuple[RouteHop, ...]:
    if len(text) > 1000:
        raise InvalidRequest(field=field, value=text, problem="is not a route", expected=_EXPECTED)
    parts = [part.strip() for part in text.split(">")]
    if len(parts) < 3 or len(parts) % 2 == 0:
        raise InvalidRequest(field=field, value=text, problem="is not a route", expected=_EXPECTED)
    return tuple(
        _hop(parts[place + 1], parts[place], parts[place + 2], f"{field}[{place // 2}]")
        for place in range(0, len(parts) - 2, 2)
    )


def _parse_hop(item: object, field: str) -> RouteHop:
    if isinstance(item, RouteHop):
        return item
    if not isinstance(item, dict) or set(item) != {"pool", "asset_in", "asset_out"}:
        raise InvalidRequest(
            field=field,
            value=item,
            problem="is not a hop with pool, asset_in and asset_out",
            expected=_EXPECTED,
        )
    return _hop(item["pool"], item["asset_in"], item["asset_out"], field)


def _hop(pool: object, asset_in: object, asset_out: object, field: str) -> RouteHop:
    name, pool_id = _parse_pool(pool, f"{field}.pool")
    hop = RouteHop(
        pool=name,
        pool_id=pool_id,
        asset_in=_parse_id(asset_in, f"{field}.asset_in"),
        asset_out=_parse_id(asset_out, f"{field}.asset_out"),
    )
    if hop.asset_in == hop.asset_out:
        raise InvalidRequest(
            field=field, problem=f"sells {hop.asset_in} for itself", expected="two different assets"
        )
    return hop


def _parse_pool(value: object, field: str) -> tuple[str, int | None]:
    name: object = value
    number: object = None
    if isinstance(value, dict) and len(value) == 1:
        name, number = next(iter(value.items()))
    elif isinstance(value, str):
        for opening, closing in (("(", ")"), (":", "")):
            head, found, tail = value.partition(opening)
            if found and tail.endswith(closing):
                name, number = head, tail[: len(tail) - len(closing)]
                break
    known = _POOLS.get(name.strip().lower()) if isinstance(name, str) else None
    if known is None:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not a pool",
            expected="one of: Omnipool, XYK, LBP, Aave, HSM, Stableswap(102)",
        )
    if known != "Stableswap":
        if number is not None:
            raise InvalidRequest(field=field, value=value, problem="has an id", expected=f"{known!r} alone")
        return known, None
    if number is None:
        raise InvalidRequest(
            field=field, value=value, problem="has no pool id", expected="one like Stableswap(102)"
        )
    return known, _parse_id(number, field)


def _parse_id(value: object, field: str) -> int:
    return read_number(value, field=field, kind="an asset id", expected="a number like 5", most=_U32)


def check_route(hops: tuple[RouteHop, ...], asset_in: int, asset_out: int) -> None:
    """Refuse hops that do not lead from *asset_in* to *asset_out*."""
    parse_route(list(hops), field="route")
    if hops[0].asset_in != asset_in:
        raise InvalidRequest(
            field="route", problem=f"begins with {hops[0].asset_in}", expected=f"{asset_in}, the asset sold"
        )
    if hops[-1].asset_out != asset_out:
        raise InvalidRequest(
            field="route",
            problem=f"ends with {hops[-1].asset_out}",
            expected=f"{asset_out}, the asset received",
        )


def format_route(hops: Sequence[RouteHop]) -> str:
    """Return *hops* as text, in the form that `parse_route` reads."""
    return str(hops[0].asset_in) + "".join(str(hop)[len(str(hop.asset_in)) :] for hop in hops)
