"""What a batch says, in the order of danger: nothing that gives a right or moves money is left
out."""

from random import Random
from typing import Any, NamedTuple

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import BUNDLED, RuntimeTable, load_bundled
from scenarioctl.transactions.inner_calls import Danger, call_kinds
from scenarioctl.transactions.wording.calls import tell_call
from scenarioctl.transactions.wording.phrases import CallStory
from tests.conftest import BOB, BOB_HEX
from tests.generated_values import Generator
from tests.messages import says

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
RAW_BOB = bytes.fromhex(BOB_HEX[2:])
NOTE: dict[str, Any] = {"System": {"remark": {"remark": b"hi"}}}
CHILL: dict[str, Any] = {"Staking": {"chill": {}}}
UNKNOWN: dict[str, Any] = {"Staking": {"force_no_eras": {}}}
PROXY: dict[str, Any] = {
    "Proxy": {"add_proxy": {"delegate": {"Id": RAW_BOB}, "proxy_type": "Any", "delay": 0}}
}


POLKADOT = REGISTRY.find("polkadot")
WEIGHT = {"ref_time": 1, "proof_size": 1}


def table_of(chain: Chain) -> RuntimeTable | None:
    return load_bundled(chain.name)


def call_of(value: dict[str, Any]) -> Call:
    ((pallet, inner),) = value.items()
    ((method, args),) = inner.items()
    return Call(pallet=pallet, method=method, args=args)


def say(chain: str, value: dict[str, Any]) -> str:
    return tell_call(call_of(value), REGISTRY.find(chain), ASSETS, table_of).sentence


def read(chain: str, value: dict[str, Any]) -> CallStory:
    return tell_call(call_of(value), REGISTRY.find(chain), ASSETS, table_of)


def batch(*calls: dict[str, Any], method: str = "batch_all") -> dict[str, Any]:
    return {"Utility": {method: {"calls": list(calls)}}}


def pay(amount: int = 10**10, to: bytes = RAW_BOB) -> dict[str, Any]:
    return {"Balances": {"transfer_keep_alive": {"dest": {"Id": to}, "value": amount}}}


def test_rights_come_first_then_money_then_what_is_not_understood_and_remarks_are_counted() -> None:
    calls = [NOTE] * 5 + [CHILL, UNKNOWN] + [NOTE] * 4 + [pay(150 * 10**10), PROXY]

    sentence = say("polkadot", batch(*calls))

    first, second, third, fourth, last = sentence.split("; ")
    assert first == says("lets", BOB, "anything", "this account")
    assert second == f"transfers 150 DOT to {BOB} on Polkadot"
    assert third == says("Staking.force_no_eras", "not understood")
    assert fourth == says("stops nominating")
    assert last == "and 9 remarks"


def test_calls_that_are_told_in_the_order_in_which_they_run_are_said_to_be() -> None:
    assert say("polkadot", batch(pay(), CHILL)).count("; then ") == 1
    assert "; then " not in say("polkadot", batch(CHILL, pay()))


def test_a_batch_of_a_hundred_payees_says_the_count_the_totals_and_the_largest() -> None:
    usdt = [
        {
            "Assets": {
                "transfer": {
                    "id": 1984,
                    "target": {"Id": bytes([each] * 32)},
                    "amount": each * 10**6,
                }
            }
        }
        for each in (1, 2)
    ]
    dot = [pay(each * 10**10, bytes([each + 2] * 32)) for each in range(1, 99)]

    sentence = say("assetHub", batch(*usdt, *dot))

    assert sentence == says(
        "100 accounts", "4851 DOT", "3 USDt", "98 DOT to", "2 USDt to", "97 DOT to"
    )
    assert "shown" not in sentence


def test_of_many_calls_that_move_nothing_the_names_are_counted() -> None:
    nominate = [
        {"Staking": {"nominate": {"targets": [{"Id": bytes([each] * 32)}]}}} for each in range(9)
    ]

    assert say("polkadot", batch(*nominate, pay())).endswith("; calls Staking.nominate (9 times)")
    assert say("polkadot", batch(*nominate[1:])).count("nominates") == 8


@pytest.mark.parametrize(
    ("pallet", "amount", "limit", "pool"),
    [
        ("XYK", "amount", "max_limit", {"discount": False}),
        ("LBP", "amount", "max_limit", {}),
        ("HSM", "amount_in", "slippage_limit", {}),
        ("Stableswap", "amount_in", "min_buy_amount", {"pool_id": 100}),
    ],
)
def test_a_sale_in_any_pool_without_a_minimum_is_at_any_price(
    pallet: str, amount: str, limit: str, pool: dict[str, Any]
) -> None:
    assets = {"asset_in": 5, "asset_out": 10, amount: 2 * 10**10}

    sentences = [
        say("hydraDx", {pallet: {"sell": {**assets, **pool, limit: least}}})
        for least in (0, 5 * 10**6)
    ]

    assert sentences == [says("2 DOT", "at any price"), says("2 DOT", "at least 5 USDT")]


def test_a_payee_is_told_once() -> None:
    payee = {"Staking": {"set_payee": {"payee": {"Account": RAW_BOB}}}}
    bond = {"Staking": {"bond": {"value": 10**10, "payee": {"Account": RAW_BOB}}}}

    assert say("polkadot", payee).count(BOB) == 1
    assert say("polkadot", bond) == says("pays", BOB, "stakes 1 DOT")


def test_an_address_that_is_no_account_is_not_the_signer() -> None:
    roles = {"root": {"Id": RAW_BOB}, "nominator": {"Raw": b"\1"}, "bouncer": {"Id": RAW_BOB}}

    reading = read("polkadot", {"NominationPools": {"create": {"amount": 1, **roles}}})

    assert [right.accounts for right in reading.rights] == [{RAW_BOB, b"\1"}]


class Told(NamedTuple):
    """A call, and what must be said of it."""

    value: dict[str, Any]
    danger: Danger
    #: Its sentence, or those of all that it holds.
    texts: list[str]
    rights: list[str]
    #: Of a plain transfer, which may be summed up.
    amount: int | None = None


class Composer:
    """Makes calls that hold calls, and says what must be told of them."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.remarks: list[str] = []
        #: Texts of which the first ones have to come before the second ones.
        self.ordered: list[tuple[list[str], list[str]]] = []

    def calls(self, depth: int, number: int) -> list[Told]:
        """Return calls with up to *depth* others around what they do; with many payments, now and
        then."""
        held = [self.call(depth) for _ in range(number)]
        if self.random.randrange(4) == 0:
            amounts = [
                self.random.randrange(1, 10**13) for _ in range(self.random.randrange(9, 40))
            ]
            values = [(amount, pay(amount, self.random.randbytes(32))) for amount in amounts]
            held += [
                Told(value, Danger.MONEY, [say("polkadot", value)], [], amount)
                for amount, value in values
            ]
            self.random.shuffle(held)
        return held

    def leaf(self) -> Told:
        amount, who = self.random.randrange(1, 10**13), self.random.randbytes(32)
        value, danger = self.random.choice(
            (
                (pay(amount, who), Danger.MONEY),
                (pay(amount, who), Danger.MONEY),
                (pay(amount, who), Danger.MONEY),
                *((value, Danger.MONEY) for value in moving(amount, who)),
                *((value, Danger.RIGHT) for value in giving(amount, who)),
                (NOTE, Danger.REMARK),
                (CHILL, Danger.OTHER),
                (UNKNOWN, Danger.UNKNOWN),
            )
        )
        sentence = say("polkadot", value)
        if danger in (Danger.MONEY, Danger.RIGHT):
            assert (
                ASSETS.native(POLKADOT).amount(amount) in sentence
                or format_account(who, 0) in sentence
            ), sentence
        texts = [sentence] if danger < Danger.OTHER else []
        plain = amount if "transfer_keep_alive" in value.get("Balances", {}) else None
        return Told(value, danger, texts, [sentence] if danger is Danger.RIGHT else [], plain)

    def call(self, depth: int) -> Told:
        """Return a call with up to *depth* others around what it does."""
        if depth == 0 or self.random.randrange(3) == 0:
            return self.leaf()
        if self.random.randrange(2):
            return self.batch(self.calls(depth - 1, self.random.choice((1, 2, 4, 14))))
        inner = self.call(depth - 1)
        return (
            self.around(inner)
            if self.random.randrange(5)
            else self.either(inner, self.call(depth - 1))
        )

    def either(self, main: Told, fallback: Told) -> Told:
        value = {"Utility": {"if_else": {"main": main.value, "fallback": fallback.value}}}
        danger = min(main.danger, fallback.danger, Danger.OTHER)
        return Told(value, danger, main.texts + fallback.texts, main.rights + fallback.rights)

    def around(self, inner: Told) -> Told:
        account = {"Id": self.random.randbytes(32)}
        transact = {
            "origin_kind": "Native",
            "fallback_max_weight": None,
            "call": {"encoded": encoded(inner.value)},
        }
        value: dict[str, Any] = self.random.choice(
            (
                {
                    "Proxy": {
                        "proxy": {"real": account, "force_proxy_type": None, "call": inner.value}
                    }
                },
                {"Utility": {"as_derivative": {"index": 3, "call": inner.value}}},
                {
                    "Multisig": {
                        "as_multi_threshold_1": {
                            "other_signatories": [bytes(32)],
                            "call": inner.value,
                        }
                    }
                },
                {
                    "Scheduler": {
                        "schedule": {
                            "when": 5,
                            "maybe_periodic": None,
                            "priority": 0,
                            "call": inner.value,
                        }
                    }
                },
                {"Preimage": {"note_preimage": {"bytes": encoded(inner.value)}}},
                {
                    "XcmPallet": {
                        "execute": {
                            "message": {"V5": [{"SetAppendix": [{"Transact": transact}]}]},
                            "max_weight": WEIGHT,
                        }
                    }
                },
            )
        )
        danger = min(inner.danger, Danger.MONEY if "XcmPallet" in value else Danger.OTHER)
        return Told(value, danger, inner.texts, inner.rights)

    def batch(self, held: list[Told]) -> Told:
        value = batch(
            *(each.value for each in held),
            method=self.random.choice(("batch", "batch_all", "force_batch")),
        )
        amounts = sorted((each.amount for each in held if each.amount is not None), reverse=True)
        shown = held
        if len(amounts) > 8:
            native = ASSETS.native(POLKADOT)
            largest = [f"{native.amount(amount)} to " for amount in amounts[:5]]
            total = Told(
                {}, Danger.MONEY, [f"{native.amount(sum(amounts))} in total", *largest], []
            )
            shown = [total, *(each for each in held if each.amount is None)]
        remarks = [each for each in held if each.danger is Danger.REMARK]
        if len(remarks) > 1:
            self.remarks.append(f"{len(remarks)} remarks")
        self.ordered += [
            (one.texts, two.texts)
            for one in shown
            for two in shown
            if one.danger < two.danger and Danger.UNKNOWN not in (one.danger, two.danger)
        ]
        return Told(
            value,
            min(Danger.OTHER, *(each.danger for each in held)),
            [text for each in shown for text in each.texts],
            [text for each in held for text in each.rights],
        )


def moving(amount: int, who: bytes) -> list[dict[str, Any]]:
    """Return calls that move *amount*, some of them to *who*."""
    here = {"parents": 0, "interior": {"X1": [{"AccountId32": {"network": None, "id": who}}]}}
    dot = [{"id": {"parents": 0, "interior": "Here"}, "fun": {"Fungible": amount}}]
    hub = {"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}}
    deposit = {"DepositAsset": {"assets": {"Wild": "All"}, "beneficiary": here}}
    sent = {
        "dest": {"V5": hub},
        "beneficiary": {"V5": here},
        "assets": {"V5": dot},
        "fee_asset_item": 0,
        "weight_limit": "Unlimited",
    }
    message = {"V5": [{"WithdrawAsset": dot}, {"SetErrorHandler": [deposit]}]}
    return [
        {"Staking": {"bond_extra": {"max_additional": amount}}},
        {"Balances": {"burn": {"value": amount, "keep_alive": True}}},
        {"XcmPallet": {"limited_teleport_assets": sent}},
        {"XcmPallet": {"execute": {"message": message, "max_weight": WEIGHT}}},
    ]


def giving(amount: int, who: bytes) -> list[dict[str, Any]]:
    """Return calls that give rights to *who*."""
    votes = {"to": {"Id": who}, "balance": amount, "class": 3, "conviction": "Locked1x"}
    here = {"parents": 0, "interior": {"X1": [{"AccountId32": {"network": None, "id": who}}]}}
    return [
        {"Proxy": {"add_proxy": {"delegate": {"Id": who}, "proxy_type": "Any", "delay": 0}}},
        {"Staking": {"set_payee": {"payee": {"Account": who}}}},
        {"ConvictionVoting": {"delegate": votes}},
        {"XcmPallet": {"add_authorized_alias": {"aliaser": {"V5": here}, "expires": 99}}},
    ]


def encoded(value: dict[str, Any]) -> bytes:
    table = load_bundled("polkadot")
    assert table is not None
    return table.encode_call(call_of(value))


@pytest.mark.parametrize("seed", range(80))
def test_all_money_and_rights_in_random_calls_are_said_in_the_order_of_danger(seed: int) -> None:
    composer = Composer(Random(seed))
    told = composer.batch(composer.calls(3, composer.random.choice((3, 6, 20))))

    sentence, reading = say("polkadot", told.value), read("polkadot", told.value)

    assert [text for text in (*told.texts, *composer.remarks) if text not in sentence] == []
    assert sorted(set(told.rights)) == sorted({right.sentence for right in reading.rights})
    assert ("force_no_eras" in sentence) == bool(reading.unknown)
    swapped = [
        (first, second)
        for earlier, later in composer.ordered
        for first in earlier
        for second in later
        if sentence.index(first) > sentence.rindex(second)
    ]
    assert swapped == []


def test_a_deep_or_long_call_is_told_to_its_end() -> None:
    value = pay()
    for _ in range(60):
        value = batch(NOTE, {"Utility": {"as_derivative": {"index": 1, "call": value}}})
        value = value if _ % 2 else {"Utility": {"as_derivative": {"index": 2, "call": value}}}

    assert f"transfers 1 DOT to {BOB}" in say("polkadot", batch(*[NOTE] * 100, pay()))
    sentence, reading = say("polkadot", value), read("polkadot", value)
    # What is too deep to be read is never taken for understood.
    assert ("transfers 1 DOT" in sentence) != bool(reading.unknown)
    assert ("more inside that is not read" in sentence) == bool(reading.unknown)


def test_an_appendix_too_deep_to_be_read_is_said_not_to_be() -> None:
    program: list[Any] = [{"ClearError": None}]
    for _ in range(70):
        program = [{"SetAppendix": program}]
    execute = {"XcmPallet": {"execute": {"message": {"V5": program}, "max_weight": WEIGHT}}}

    assert say("polkadot", execute).rstrip("]").endswith("at its end does [1 instruction not read")
    assert read("polkadot", execute).unknown == [says("deep", "not read")]


@pytest.mark.parametrize("chain", BUNDLED)
def test_a_batch_names_whatever_call_it_holds(chain: str) -> None:
    table = load_bundled(chain)
    assert table is not None
    generator = Generator(table.types, Random(chain))
    silent = []
    for pallet in table.pallets:
        for method in table.methods(pallet):
            call = generator.call(table, pallet, method)
            if call is None:
                continue
            value = batch({pallet: {method: call.args}}, NOTE, NOTE)
            sentence, reading = say(chain, value), read(chain, value)
            named = f"{pallet}.{method}" in sentence
            understood = not any(f"{pallet}.{method} " in reason for reason in reading.unknown)
            if not sentence or named == understood or sentence.startswith("and "):
                silent.append((f"{pallet}.{method}", sentence))

    assert silent == []


def granting(table: RuntimeTable, pallet: str, method: str) -> list[Call]:
    """Return calls that give the right of a row, with some arguments."""
    generator = Generator(table.types, Random(f"{pallet} {method}"))
    calls = [generator.call(table, pallet, method) for _ in range(40)]
    return [call for call in calls if call is not None]


RIGHTS = [row for row, kind in call_kinds().items() if kind.right]


@pytest.mark.parametrize("row", [pytest.param(row, id=".".join(row)) for row in RIGHTS])
def test_a_right_is_said_first_and_is_known(row: tuple[str, str]) -> None:
    pallet, method = row
    chains = [
        chain
        for chain in BUNDLED
        if (table := load_bundled(chain)) and table.has_call(pallet, method)
    ]
    assert chains
    for chain in chains:
        table = load_bundled(chain)
        assert table is not None
        given = 0
        for call in granting(table, pallet, method):
            value = batch(NOTE, NOTE, {pallet: {method: call.args}})

            reading = read(chain, value)

            for right in reading.rights:
                given += 1
                assert say(chain, value).startswith(right.sentence)
                assert right.sentence.endswith(f", on {REGISTRY.find(chain).title}")
        assert given, chain
