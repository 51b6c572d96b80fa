"""What a batch says, in the order of danger: nothing that gives a right or moves money is left out."""

from random import Random
from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import BUNDLED, RuntimeTable, load_bundled
from scenarioctl.transactions.rights import RIGHTS
from scenarioctl.transactions.wording.calls import read_rights, say_call
from scenarioctl.transactions.wording.phrases import Reading
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


def table_of(chain: Chain) -> RuntimeTable | None:
    return load_bundled(chain.name)


def call_of(value: dict[str, Any]) -> Call:
    ((pallet, inner),) = value.items()
    ((method, args),) = inner.items()
    return Call(pallet=pallet, method=method, args=args)


def say(chain: str, value: dict[str, Any]) -> str:
    return say_call(call_of(value), REGISTRY.find(chain), ASSETS, table_of)


def read(chain: str, value: dict[str, Any]) -> Reading:
    return read_rights(call_of(value), REGISTRY.find(chain), ASSETS, table_of)


def batch(*calls: dict[str, Any], method: str = "batch_all") -> dict[str, Any]:
    return {"Utility": {method: {"calls": list(calls)}}}


def pay(amount: int = 10**10, to: bytes = RAW_BOB) -> dict[str, Any]:
    return {"Balances": {"transfer_keep_alive": {"dest": {"Id": to}, "value": amount}}}


def test_rights_come_first_then_money_then_what_is_not_understood_and_remarks_are_counted() -> None:
    calls = [NOTE] * 5 + [CHILL, UNKNOWN] + [NOTE] * 4 + [pay(150 * 10**10), PROXY]

    sentence = say("polkadot", batch(*calls))

    first, second, third, fourth, last = sentence.split("; ")
    assert first == says("lets", BOB, "anything", "this account")
    assert second == f"transfers 150 DOT to {BOB} on polkadot"
    assert third == says("Staking.force_no_eras", "not understood")
    assert fourth == says("stops nominating")
    assert last == "and 9 remarks"


def test_calls_that_are_told_in_the_order_in_which_they_run_are_said_to_be() -> None:
    assert say("polkadot", batch(pay(), CHILL)).count("; then ") == 1
    assert "; then " not in say("polkadot", batch(CHILL, pay()))


def test_a_batch_of_a_hundred_payees_says_the_count_the_totals_and_the_largest() -> None:
    usdt = [
        {"Assets": {"transfer": {"id": 1984, "target": {"Id": bytes([each] * 32)}, "amount": each * 10**6}}}
        for each in (1, 2)
    ]
    dot = [pay(each * 10**10, bytes([each + 2] * 32)) for each in range(1, 99)]

    sentence = say("assetHub", batch(*usdt, *dot))

    assert sentence == says("100 accounts", "4851 DOT", "3 USDt", "98 DOT to", "2 USDt to", "97 DOT to")
    assert "shown" not in sentence


def test_of_many_calls_that_move_nothing_the_names_are_counted() -> None:
    nominate = [{"Staking": {"nominate": {"targets": [{"Id": bytes([each] * 32)}]}}} for each in range(9)]

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
        say("hydraDx", {pallet: {"sell": {**assets, **pool, limit: least}}}) for least in (0, 5 * 10**6)
    ]

    assert sentences == [says("2 DOT", "at any price"), says("2 DOT", "at least 5 USDT")]


def test_a_payee_is_told_once() -> None:
    payee = {"Staking": {"set_payee": {"payee": {"Account": RAW_BOB}}}}
    bond = {"Staking": {"bond": {"value": 10**10, "payee": {"Account": RAW_BOB}}}}

    assert say("polkadot", payee).count(BOB) == 1
    assert say("polkadot", bond) == says("pays", BOB, "stakes 1 DOT")


def test_an_address_that_is_no_account_is_nobody_known() -> None:
    roles = {"root": {"Id": RAW_BOB}, "nominator": {"Raw": b"\1"}, "bouncer": {"Id": RAW_BOB}}

    reading = read("polkadot", {"NominationPools": {"create": {"amount": 1, **roles}}})

    assert [right.accounts for right in reading.rights] == [{RAW_BOB, b""}]


@pytest.mark.parametrize("method", ["batch", "batch_all", "force_batch"])
def test_no_money_is_left_out_of_random_batches(method: str) -> None:
    for seed in range(60):
        random = Random(f"{method} {seed}")
        told: list[tuple[str, int]] = []
        calls: list[dict[str, Any]] = []
        for _ in range(random.randrange(1, 60)):
            kind = random.randrange(7)
            amount = random.randrange(1, 10**13)
            to = random.randbytes(32)
            transfer = pay(amount, to)
            if kind < 3:
                calls.append(random.choice((NOTE, CHILL, UNKNOWN, PROXY)))
                continue
            if kind == 3:
                calls.append({"Staking": {"bond_extra": {"max_additional": amount}}})
                told.append(("stakes", amount))
                continue
            told.append(("plain" if kind < 6 else "nested", amount))
            through = {"real": {"Id": to}, "force_proxy_type": None, "call": batch(NOTE, transfer)}
            calls.append(transfer if kind < 6 else {"Proxy": {"proxy": through}})

        sentence = say("polkadot", batch(*calls, method=method))

        native = ASSETS.native(REGISTRY.find("polkadot"))
        plain = [amount for kind, amount in told if kind == "plain"]
        shown = [amount for kind, amount in told if kind != "plain"]
        if len(plain) > 8:
            shown += [sum(plain), *sorted(plain)[-5:]]
        else:
            shown += plain
        assert [amount for amount in shown if native.amount(amount) not in sentence] == [], (seed, sentence)
        if PROXY in calls:
            assert sentence.removeprefix("[").startswith(says_of_proxy()), sentence


def says_of_proxy() -> str:
    return say("polkadot", PROXY)


def test_a_deep_or_long_call_is_told_to_its_end() -> None:
    value = pay()
    for _ in range(60):
        value = batch(NOTE, {"Utility": {"as_derivative": {"index": 1, "call": value}}})
        value = value if _ % 2 else {"Utility": {"as_derivative": {"index": 2, "call": value}}}

    assert f"transfers 1 DOT to {BOB}" in say("polkadot", batch(*[NOTE] * 100, pay()))
    sentence, reading = say("polkadot", value), read("polkadot", value)
    # What is too deep to be read is never taken for understood.
    assert ("transfers 1 DOT" in sentence) != bool(reading.unknown)


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


@pytest.mark.parametrize("row", [pytest.param(row, id=".".join(row)) for row in RIGHTS])
def test_a_right_is_said_first_and_is_known(row: tuple[str, str]) -> None:
    pallet, method = row
    chains = [chain for chain in BUNDLED if (table := load_bundled(chain)) and table.has_call(pallet, method)]
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
                assert right.sentence.endswith(f", on {chain}")
        assert given, chain
