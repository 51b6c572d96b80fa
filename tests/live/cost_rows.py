"""Transactions of senders with little to spare: what a check has to say of each, and what becomes
of it."""

from collections.abc import Callable
from dataclasses import dataclass

from scenarioctl.model.calls import Call
from tests.live.recorder import fresh
from tests.live.senders import (
    CHAINS,
    FREE,
    MEAGER,
    UNIT,
    Sender,
    add_proxy,
    batch,
    create_asset,
    endowed,
    execute,
    halves,
    multisig,
    multisig_deposit,
    proxy_deposit,
    remark,
    set_currency,
    swap_on_hub,
)


@dataclass(frozen=True, kw_only=True)
class Row:
    chain: str
    name: str
    make: Callable[[Sender], Call]
    verdict: str
    outcome: str
    #: What a reason or a warning says.
    says: str = ""
    #: Whether the exchange needs prices to try it, which a rig keeps for a moment only.
    priced: bool = False


def _refused(
    chain: str, name: str, make: Callable[[Sender], Call], outcome: str, says: str = ""
) -> Row:
    return Row(chain=chain, name=name, make=make, verdict="refused", outcome=outcome, says=says)


def _ok(
    chain: str, name: str, make: Callable[[Sender], Call], says: str = "", *, priced: bool = False
) -> Row:
    return Row(
        chain=chain,
        name=name,
        make=make,
        verdict="ok",
        outcome="executed",
        says=says,
        priced=priced,
    )


ONCE_PAID = "once its fee of"
LOCKED = 999 * FREE // 1000

CRAFTED: tuple[Row, ...] = (
    *(
        row
        for chain in CHAINS
        for row in (
            _refused(
                chain,
                "all but the existential deposit",
                lambda s: s.holds(FREE).sends(FREE - s.deposit),
                "failed",
                ONCE_PAID,
            ),
            _refused(
                chain,
                "all but the existential deposit and most of the fee",
                lambda s: s.holds(FREE).less_than_fee(lambda fee: s.sends(FREE - s.deposit - fee)),
                "failed",
                ONCE_PAID,
            ),
            _refused(
                chain,
                "all, and the account may be closed",
                lambda s: s.holds(FREE).sends(FREE, "transfer_allow_death"),
                "failed",
                ONCE_PAID,
            ),
            _ok(
                chain,
                "dust stays",
                lambda s: s.holds(FREE).less_fee(
                    lambda fee: s.sends(FREE - fee - s.deposit // 2, "transfer_allow_death")
                ),
                "the sender loses",
            ),
            _refused(
                chain,
                "a batch that sums to all",
                lambda s: halves(s.holds(FREE), FREE - s.deposit, "batch"),
                "partly",
                "BatchInterrupted",
            ),
            _refused(
                chain,
                "a whole batch that sums to all",
                lambda s: halves(s.holds(FREE), FREE - s.deposit, "batch_all"),
                "failed",
                ONCE_PAID,
            ),
            _refused(
                chain,
                "a batch that goes on, and sums to all",
                lambda s: halves(s.holds(FREE), FREE - s.deposit, "force_batch"),
                "partly",
                "ItemFailed",
            ),
            _refused(
                chain,
                "a batch within a batch that sums to all",
                lambda s: batch(halves(s.holds(FREE), FREE - s.deposit, "batch_all"), remark()),
                "partly",
                "BatchInterrupted",
            ),
            _refused(
                chain,
                "a lock keeps the fee",
                lambda s: s.holds(FREE, frozen=FREE // 2).sends(FREE // 2),
                "failed",
                ONCE_PAID,
            ),
            _refused(
                chain,
                "a lock leaves less than the fee",
                lambda s: s.holds(FREE, frozen=FREE - s.fee(remark()) // 2).makes(remark()),
                "rejected",
                "is locked: less than the fee",
            ),
            _refused(
                chain,
                "a proxy's deposit without the fee",
                lambda s: s.holds(proxy_deposit(s) + s.deposit).makes(add_proxy(s)),
                "failed",
                ONCE_PAID,
            ),
            _refused(
                chain,
                "a multisig's deposit without the fee",
                lambda s: s.holds(multisig_deposit(s) + s.deposit).makes(multisig()),
                "failed",
                ONCE_PAID,
            ),
        )
    ),
    *(
        _refused(
            chain,
            "the existential deposit and half of the fee",
            lambda s: s.holds(s.deposit + s.fee(remark()) // 2).makes(remark()),
            "rejected",
            "can be taken only if the existential deposit",
        )
        for chain in CHAINS[:2]
    ),
    _refused(
        "liveRelay",
        "something needs the account",
        lambda s: s.holds(FREE, consumers=1).less_fee(
            lambda fee: s.sends(FREE - fee, "transfer_allow_death")
        ),
        "failed",
    ),
    _refused(
        "liveRelay",
        "a teleport that leaves the fee and no delivery",
        lambda s: s.holds(FREE).less_fee(lambda fee: s.goes_to("liveHub", "native", FREE - fee)),
        "failed",
        "FeesNotMet",
    ),
    _refused(
        "liveRelay",
        "a program that withdraws all",
        lambda s: execute(s.holds(FREE), FREE),
        "failed",
        ONCE_PAID,
    ),
    _refused(
        "liveRelay",
        "an index without the fee",
        lambda s: s.holds(s.table.constant("Indices", "Deposit") + s.deposit).makes(
            Call(pallet="Indices", method="claim", args={"index": 77})
        ),
        "failed",
        ONCE_PAID,
    ),
    _refused(
        "liveRelay",
        "a proxy whose principal has too little",
        lambda s: s.holds(FREE).acts_for(endowed(s, UNIT), s.sends(UNIT)),
        "partly",
        "ProxyExecuted",
    ),
    _ok(
        "liveRelay",
        "a proxy whose principal pays no fee",
        lambda s: s.holds(FREE).acts_for(endowed(s, UNIT), s.sends(UNIT - s.deposit)),
    ),
    _refused(
        "liveHub",
        "all of an asset, kept alive",
        lambda s: s.holds(FREE).is_given(50_000_000).sends_asset(50_000_000, "transfer_keep_alive"),
        "failed",
    ),
    _refused(
        "liveHub",
        "an asset, and half of the fee",
        lambda s: (
            s.is_given(50_000_000)
            .holds(s.deposit + s.fee(s.sends_asset(1_000_000)) // 2)
            .makes(s.sends_asset(1_000_000))
        ),
        "rejected",
        "can be taken only if the existential deposit",
    ),
    _refused(
        "liveHub",
        "an asset to the exchange, without the delivery",
        lambda s: (
            s.is_given(50_000_000)
            .holds(s.deposit + s.fee(s.goes_to("liveDex", "1984", 10_000_000)))
            .makes(s.goes_to("liveDex", "1984", 10_000_000))
        ),
        "failed",
    ),
    _refused(
        "liveHub",
        "an asset that keeps no account alive, to a new account",
        lambda s: (
            s.holds(FREE).is_given(1_000, MEAGER).sends_asset(500, asset=MEAGER, to=fresh(32))
        ),
        "failed",
    ),
    _refused(
        "liveHub",
        "an asset's deposit without the fee",
        lambda s: s.holds(s.table.constant("Assets", "AssetDeposit") + s.deposit).makes(
            create_asset(s)
        ),
        "failed",
        ONCE_PAID,
    ),
    _refused(
        "liveHub",
        "a swap of all",
        lambda s: swap_on_hub(s.is_given(50_000_000).holds(FREE), FREE),
        "failed",
        ONCE_PAID,
    ),
    _ok(
        "liveDex",
        "dust of an asset stays",
        lambda s: s.holds(FREE).is_given(50_000_000, 10).sends_token(50_000_000 - 1),
        "the sender loses 0.000001 USDT",
    ),
    _refused(
        "liveDex",
        "dust of an asset, kept alive",
        lambda s: (
            s.holds(FREE)
            .is_given(50_000_000, 10)
            .sends_token(50_000_000 - 1, method="transfer_keep_alive")
        ),
        "failed",
        "Tokens.KeepAlive",
    ),
    _refused(
        "liveDex",
        "a lock on what is reserved",
        lambda s: s.holds(FREE, reserved=2 * FREE, frozen=2 * FREE).sends(FREE // 2),
        "rejected",
        "is locked: less than the fee",
    ),
    _refused(
        "liveDex",
        "too little for the fee",
        lambda s: s.holds(FREE).holds(s.fee(remark()) * 97 // 100).makes(remark()),
        "rejected",
        "less than the fee",
    ),
    _refused(
        "liveDex",
        "too little of the currency that pays",
        lambda s: s.holds(FREE).is_given(11_000, 10).pays_in(10).makes(remark(b"x" * 20_000)),
        "rejected",
        "less than the fee",
    ),
    _refused(
        "liveDex",
        "all of the currency that pays",
        lambda s: s.holds(FREE).is_given(50_000_000, 10).pays_in(10).sends_token(50_000_000),
        "failed",
        ONCE_PAID,
    ),
    _refused(
        "liveDex",
        "a call that sets a currency the sender lacks",
        lambda s: s.holds(FREE).makes(batch(set_currency(10), remark())),
        "rejected",
        "less than the fee",
    ),
    Row(
        chain="liveRelay",
        name="a proxy's deposit and the fee",
        make=lambda s: s.holds(proxy_deposit(s) + s.deposit + s.fee(add_proxy(s))).makes(
            add_proxy(s)
        ),
        verdict="unknown",
        outcome="executed",
        says="do anything with this account",
    ),
    Row(
        chain="liveDex",
        name="a currency that has no price",
        make=lambda s: s.holds(FREE).pays_in(2).makes(remark()),
        verdict="unknown",
        outcome="dropped",
        says="which liveDex exchanges in a pool first",
    ),
)

ORDINARY: tuple[Row, ...] = (
    *(
        row
        for chain in CHAINS
        for row in (
            _ok(chain, "a remark", lambda s: s.holds(FREE).makes(remark())),
            _ok(chain, "a transfer", lambda s: s.holds(FREE).sends(UNIT)),
            _ok(
                chain,
                "all but the existential deposit and the fee",
                lambda s: s.holds(FREE).less_fee(lambda fee: s.sends(FREE - s.deposit - fee)),
            ),
            _ok(
                chain,
                "all but the fee",
                lambda s: s.holds(FREE).less_fee(
                    lambda fee: s.sends(FREE - fee, "transfer_allow_death")
                ),
                "closes the sender's account",
            ),
            _ok(
                chain,
                "all that there is, kept alive",
                lambda s: s.holds(FREE).sends_all(keep_alive=True),
            ),
            _ok(
                chain,
                "a lock that leaves the fee",
                lambda s: s.holds(FREE, frozen=FREE - s.fee(remark())).makes(remark()),
            ),
            _ok(
                chain,
                "what a lock leaves",
                lambda s: s.holds(FREE, frozen=LOCKED // 2).less_fee(
                    lambda fee: s.sends(FREE - LOCKED // 2 - fee)
                ),
            ),
        )
    ),
    *(
        _ok(
            chain,
            "a lock on what is reserved",
            lambda s: s.holds(FREE, reserved=2 * FREE, frozen=2 * FREE).sends(FREE // 2),
        )
        for chain in CHAINS[:2]
    ),
    *(
        _ok(
            chain,
            "the existential deposit and the fee",
            lambda s: s.holds(s.deposit + s.fee(remark())).makes(remark()),
        )
        for chain in CHAINS[:2]
    ),
    _ok(
        "liveRelay",
        "a multisig's deposit and the fee",
        lambda s: s.holds(multisig_deposit(s) + s.deposit + s.fee(multisig())).makes(multisig()),
    ),
    _ok("liveRelay", "a teleport", lambda s: s.holds(FREE).goes_to("liveHub", "native", UNIT)),
    _ok(
        "liveHub", "an asset", lambda s: s.holds(FREE).is_given(50_000_000).sends_asset(20_000_000)
    ),
    _ok(
        "liveHub",
        "all of an asset",
        lambda s: s.holds(FREE).is_given(50_000_000).sends_asset(50_000_000),
    ),
    _ok(
        "liveHub",
        "an asset of a locked sender",
        lambda s: s.is_given(50_000_000).holds(FREE, frozen=LOCKED).sends_asset(20_000_000),
    ),
    _ok(
        "liveHub",
        "an asset's deposit and the fee",
        lambda s: s.holds(
            s.table.constant("Assets", "AssetDeposit") + s.deposit + s.fee(create_asset(s))
        ).makes(create_asset(s)),
    ),
    _ok("liveHub", "a swap", lambda s: swap_on_hub(s.is_given(50_000_000).holds(FREE), UNIT)),
    _ok(
        "liveHub",
        "to the relay chain",
        lambda s: s.holds(FREE).goes_to("liveRelay", "native", UNIT),
    ),
    _ok(
        "liveHub",
        "an asset to the exchange",
        lambda s: s.holds(FREE).is_given(50_000_000).goes_to("liveDex", "1984", 20_000_000),
        priced=True,
    ),
    _ok(
        "liveDex",
        "an asset to the hub",
        lambda s: s.holds(FREE).is_given(50_000_000, 10).goes_to("liveHub", "10", 20_000_000),
        priced=True,
    ),
    _ok(
        "liveDex",
        "the fee and no more",
        lambda s: s.holds(FREE).holds(s.fee(remark())).makes(remark()),
    ),
    _ok(
        "liveDex",
        "a fee in another currency, without the native one",
        lambda s: s.is_given(50_000_000, 10).pays_in(10).makes(remark()),
    ),
    _ok(
        "liveDex",
        "a transfer of the currency that pays",
        lambda s: s.is_given(50_000_000, 10).pays_in(10).sends_token(20_000_000),
    ),
    _ok(
        "liveDex",
        "all of the native asset, the fee in another",
        lambda s: (
            s.holds(FREE).is_given(50_000_000, 10).pays_in(10).sends(FREE, "transfer_allow_death")
        ),
    ),
    _ok(
        "liveDex",
        "a call that sets the currency and is paid in it",
        lambda s: s.holds(FREE).is_given(50_000_000, 10).makes(batch(set_currency(10), remark())),
    ),
)
