"""The exchange under test, and Alice, who trades there."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from substrateinterface import Keypair

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.registry import Chain
from scenarioctl.model.calls import Call
from scenarioctl.transactions.swap.omnipool_state import POOL_ACCOUNT
from scenarioctl.transactions.swap.route_quote import fetch_quote
from scenarioctl.transactions.swap.swap_call import Quote, Swap, build_swap, parse_route
from tests.live.setup import act_as_root, send
from tests.map_entries import read_entries
from tests.runner import finish
from tests.signing import dev_key

#: Id -> decimals, of what the Omnipool of the rig holds.
POOLED = {0: 12, 2: 18, 5: 10, 15: 10, 20: 18, 100: 18}
HDX, LRNA, DOT, USDT = 0, 1, 5, 10
#: The share of the stable pool, in the Omnipool too, and what else than USDT is in that pool.
SHARE, DAI = 100, 18
#: Id -> decimals, of what is traded there.
DECIMALS = {**POOLED, LRNA: 12, USDT: 6, DAI: 18, 1000037: 10}
MAX_SLIP_FEE = 50_000


class Market:
    """The Omnipool under test, and Alice, who trades there."""

    def __init__(self, app: Application, chain: Chain) -> None:
        self.app = app
        self.chain = chain
        self.client = app.client(chain)
        self.table = finish(self.client.table())
        self.alice: Keypair = dev_key("//Alice")

    def asset(self, number: int) -> Asset:
        return Asset(
            chain=self.chain.name,
            id=str(number),
            symbol=f"asset {number}",
            decimals=DECIMALS[number],
            kind="tokens",
        )

    def balance(self, account: bytes, asset: int) -> int:
        if asset == HDX:
            free: int = finish(self.client.storage("System", "Account", account))["data"]["free"]
        else:
            free = finish(self.client.storage("Tokens", "Accounts", account, asset))["free"]
        return free

    def write(self, storage: dict[str, Any]) -> None:
        finish(self.client.submit("dev_setStorage", storage))

    def count_issued(self) -> None:
        """Let the chain know of what this gave to Alice: without it nobody can pay it all out."""
        self.write({"Balances": {"TotalIssuance": str(10**26)}})

    def charge_slip_fee(self, charged: bool) -> None:
        self.write({"Omnipool": {"SlipFee": {"maxSlipFee": MAX_SLIP_FEE} if charged else None}})

    def quote(self, sold: int, bought: int, amount: int, route: str = "", **options: Any) -> Quote:
        hops = parse_route(route, field="route") if route else None
        return finish(
            fetch_quote(
                self.client,
                asset_in=self.asset(sold),
                asset_out=self.asset(bought),
                amount=amount,
                route=hops,
                **options,
            )
        )

    def sell(self, quote: Quote) -> int:
        """Execute what was quoted, and return what the trade's event says that it brought."""
        swap = Swap(
            chain=self.chain,
            asset_in=quote.asset_in,
            asset_out=quote.asset_out,
            amount=quote.amount_in,
            min_amount_out=1,
            route=quote.route,
        )
        return self.execute(build_swap(swap, self.table).call)

    def execute(self, call: Call) -> int:
        events = send(self.app, self.chain, call, self.alice)
        # The chain trades too, at the end of a block: who sold tells the two apart.
        brought = [
            event.fields["amount_out"]
            for event in events
            if str(event) == "Router.Executed"
            or (
                str(event) == "Omnipool.SellExecuted"
                and event.fields["who"] == self.alice.public_key
            )
        ]
        amount: int = brought[-1]
        return amount


@contextmanager
def open_market(app: Application, name: str) -> Iterator[Market]:
    """Give the market of the chain *name*, with an Alice who is rich and without the slip fee."""
    market = Market(app, app.registry.find(name))
    alice = format_account(market.alice.public_key, 63)
    rich = {
        number: str(10 ** (decimals + 7))
        for number, decimals in {**POOLED, LRNA: 12, USDT: 6}.items()
    }
    # The rig's snapshot lacks the pool's HDX.
    pool = max(market.balance(POOL_ACCOUNT, HDX), 936_471 * 10**12)
    market.write(
        {
            "System": {
                "Account": [
                    [
                        [format_account(POOL_ACCOUNT, 63)],
                        {"providers": 1, "data": {"free": str(pool)}},
                    ],
                    [[alice], _account(market, rich.pop(HDX))],
                ]
            },
            "Tokens": {
                "Accounts": [[[alice, number], {"free": free}] for number, free in rich.items()]
            },
        }
    )
    market.charge_slip_fee(False)
    yield market
    market.charge_slip_fee(False)


def _account(market: Market, free: str) -> dict[str, Any]:
    """Return Alice's account with *free* of the native asset, and the nonce that she is at."""
    account = finish(market.client.storage("System", "Account", market.alice.public_key))
    return {"nonce": account["nonce"], "providers": 1, "consumers": 1, "data": {"free": free}}


def make_stable_pool(market: Market) -> None:
    """Make a pool of USDT and DAI: root does, in whose name the scheduler calls."""
    if finish(market.client.storage("Stableswap", "Pools", SHARE)) is None:
        args = {"share_asset": SHARE, "assets": [USDT, DAI], "amplification": 100, "fee": 400}
        act_as_root(
            market.app, market.chain, Call(pallet="Stableswap", method="create_pool", args=args)
        )
    pool = blake2b(b"sts" + SHARE.to_bytes(4, "little"), digest_size=32).digest()
    # As much as its shares are worth: they are in the Omnipool already.
    held = [(pool, USDT, 450_000 * 10**6), (pool, DAI, 470_000 * 10**18)]
    own = [(market.alice.public_key, DAI, 10**24), (market.alice.public_key, SHARE, 10**20)]
    market.write(_tokens(held + own))


def make_xyk_pool(market: Market) -> None:
    """Make a pool of USDT and DOT, as anybody can."""
    pools = finish(read_entries(market.client, "XYK", "PoolAssets"))
    if not any({USDT, DOT} == set(pair) for _, pair in pools):
        args = {
            "asset_a": USDT,
            "amount_a": 4_000_000 * 10**6,
            "asset_b": DOT,
            "amount_b": 10**6 * 10**10,
        }
        send(
            market.app,
            market.chain,
            Call(pallet="XYK", method="create_pool", args=args),
            market.alice,
        )


def make_lbp_pool(market: Market) -> None:
    """Make a pool whose weights move with each block; it takes its fee in DOT, on either side of a
    trade."""
    pair = DOT.to_bytes(4, "little") + USDT.to_bytes(4, "little")
    pool = blake2b(b"lbp" + pair, digest_size=32).digest()
    data = {
        "owner": format_account(market.alice.public_key, 63),
        "start": 1,
        "end": finish(market.client.head())[0] + 50_000,
        "assets": [DOT, USDT],
        "initialWeight": 20_000_000,
        "finalWeight": 80_000_000,
        "weightCurve": "Linear",
        "fee": [3, 1000],
        "feeCollector": format_account(b"\x07" * 32, 63),
        "repayTarget": "0",
    }
    held = [(pool, DOT, 10**15), (pool, USDT, 10**12)]
    market.write({"LBP": {"PoolData": [[[format_account(pool, 63)], data]]}, **_tokens(held)})


def _tokens(held: list[tuple[bytes, int, int]]) -> dict[str, Any]:
    rows = [
        [[format_account(account, 63), asset], {"free": str(free)}] for account, asset, free in held
    ]
    return {"Tokens": {"Accounts": rows}}
