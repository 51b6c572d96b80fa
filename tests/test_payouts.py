"""Payouts: lines of a CSV file, read or refused, and the transactions that pay them."""

import csv
import io
import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.actions.payout import build_calls
from scenarioctl.actions.payout_lines import MOST, PayoutLine, read_lines, write_lines
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import Registry
from scenarioctl.operations.views import read_unsigned
from scenarioctl.transactions.call_builder import join_calls
from tests.conftest import BOB, BOB_HEX, Run
from tests.drawing import make_app
from tests.messages import Says, says
from tests.network import FakeNetwork
from tests.runtimes import bundled, unhex
from tests.test_check import ALICE, ALICE_KEY, BOB_KEY, DOT, account
from tests.test_golden import of_kind

POLKADOT = Registry().find("polkadot")
TABLE = bundled("polkadot")
APP = make_app(Path("nowhere"))
CHAIN = ("--chain", "polkadot", "--asset", "DOT")


def table(*lines: Sequence[object], header: str = "account,amount") -> str:
    text = io.StringIO()
    csv.writer(text).writerows([header.split(","), *lines])
    return text.getvalue()


def somebody(number: int) -> str:
    return format_account(sha256(bytes([number % 256, number // 256])).digest(), 0)


def create(
    run: Run, folder: Path, text: str | bytes, *line: str, config: str = ""
) -> dict[str, Any]:
    file = folder / "pay.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    where = ("--config", config) if config else ("--offline",)
    answer: dict[str, Any] = json.loads(
        run(*where, "--json", "create", "payout", str(file), *line).out
    )
    return answer


def build(run: Run, scenario: str, *line: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(
        run("--offline", "--json", "scenario", "build", scenario, *line).out
    )
    return answer


def calls_of(tx: str, chain: str = "polkadot") -> list[Any]:
    call, _ = read_unsigned(bundled(chain), Registry().find(chain), unhex(tx))
    return (
        list(call.args["calls"])
        if call.pallet == "Utility"
        else [{call.pallet: {call.method: call.args}}]
    )


# What is paid


def test_each_line_is_a_transfer_of_one_batch(scenarioctl: Run, tmp_path: Path) -> None:
    answer = create(scenarioctl, tmp_path, table([BOB, "1.5"], [ALICE, "20000000000raw"]), *CHAIN)

    built = build(scenarioctl, answer["result"])["result"]
    assert calls_of(built["tx"]) == [
        {"Balances": {"transfer_keep_alive": {"dest": {"Id": BOB_KEY}, "value": 15 * DOT // 10}}},
        {"Balances": {"transfer_keep_alive": {"dest": {"Id": ALICE_KEY}, "value": 2 * DOT}}},
    ]
    assert (built["txtype"], built["amount"]) == ("Payout", "3.5")
    assert (answer["lines"], answer["total"][0]["human"]) == (2, "3.5 DOT")
    assert [each["lines"] for each in answer["transactions"]] == [2]


def test_columns_of_the_file_choose_chain_and_asset_and_each_chain_has_a_transaction(
    scenarioctl: Run, tmp_path: Path
) -> None:
    text = table(
        ["polkadot", BOB, "DOT", "1"],
        ["assetHub", BOB, "USDT", "2.5"],
        ["", BOB, "1984", "1"],
        ["assetHub", ALICE, "", "3"],
        header="chain,account,asset,amount",
    )

    answer = create(scenarioctl, tmp_path, text, "--chain", "assetHub", "--asset", "DOT", "--yes")

    built = build(scenarioctl, answer["result"])["result"]["transactions"]
    assert [each["source_chain"] for each in built] == ["polkadot", "assetHub"]
    assert calls_of(built[1]["tx"], "assetHub") == [
        {
            "Assets": {
                "transfer_keep_alive": {"id": 1984, "target": {"Id": BOB_KEY}, "amount": 2_500_000}
            }
        },
        {
            "Assets": {
                "transfer_keep_alive": {"id": 1984, "target": {"Id": BOB_KEY}, "amount": 1_000_000}
            }
        },
        {"Balances": {"transfer_keep_alive": {"dest": {"Id": ALICE_KEY}, "value": 3 * DOT}}},
    ]
    assert [(each["chain"], each["human"]) for each in answer["total"]] == [
        ("polkadot", "1 DOT"),
        ("assetHub", "3.5 USDt"),
        ("assetHub", "3 DOT"),
    ]


def test_a_file_of_a_spreadsheet_is_read(scenarioctl: Run, tmp_path: Path) -> None:
    text = f'\ufeffAccount , "Amount",Memo\r\n\r\n{BOB},"1,5","Rent, ""May"""\r\n ,,\r\n'.encode()

    answer = create(scenarioctl, tmp_path, text, *CHAIN, "--memos")

    built = build(scenarioctl, answer["result"])["result"]
    assert calls_of(built["tx"])[1] == {"System": {"remark": {"remark": b'Rent, "May"'}}}
    assert calls_of(built["tx"])[0]["Balances"]["transfer_keep_alive"]["value"] == 15 * DOT // 10


@pytest.mark.parametrize("memos", [(), ("--memos",)])
def test_memos_are_remarks_only_on_request(
    scenarioctl: Run, tmp_path: Path, memos: Sequence[str]
) -> None:
    text = table([BOB, "1", "for May"], [ALICE, "1", ""], header="account,amount,memo")

    answer = create(scenarioctl, tmp_path, text, *CHAIN, *memos, "--force-batch")

    tx = build(scenarioctl, answer["result"])["result"]["tx"]
    call, _ = read_unsigned(TABLE, POLKADOT, unhex(tx))
    assert (call.pallet, call.method) == ("Utility", "force_batch")
    assert [next(iter(each)) for each in calls_of(tx)] == [
        "Balances",
        *["System"] * len(memos),
        "Balances",
    ]


def test_an_address_of_another_network_is_told(scenarioctl: Run, tmp_path: Path) -> None:
    kusama, generic = (format_account(BOB_KEY, prefix) for prefix in (2, 42))
    (tmp_path / "pay.csv").write_text(table([ALICE, "1"], [kusama, "1"], [generic, "2"]))
    line = ("--offline", "create", "payout", str(tmp_path / "pay.csv"), *CHAIN, "--yes")

    assert scenarioctl(*line).err.splitlines()[1] == says("line 3", "prefix 2")
    assert scenarioctl(*line, "--strict").code == 7


@of_kind("payout")
def test_a_payout_is_the_batch_that_polkadot_js_makes(
    scenarioctl: Run, tmp_path: Path, vector: dict[str, Any]
) -> None:
    flags = [f"--{name.replace('_', '-')}" for name in ("memos", "force_batch") if vector[name]]

    created = create(
        scenarioctl, tmp_path, vector["lines"], "--chain", vector["chain"], "--yes", *flags
    )

    assert build(scenarioctl, created["result"])["result"]["tx"] == vector["extrinsic_hex"]


# What is refused


@pytest.mark.parametrize(
    ("cells", "error"),
    [
        ([BOB, "1e9"], says("line 2", "amount", "1e9", "exponent")),
        ([BOB, "1.5E+12"], says("amount", "1.5E+12", "exponent")),
        ([BOB, "=1+1"], says("amount", "formula")),
        ([BOB, "-5"], says("amount", "negative")),
        ([BOB, "0"], says("amount", "zero")),
        ([BOB, ""], says("amount", "missing")),
        ([BOB, "1,000"], says("amount", "1000", "mean")),
        ([BOB, "1.000"], says("amount", "1 or 1000")),
        ([BOB, "12.250 DOT"], says("amount", "12.25 DOT or 12250 DOT")),
        ([BOB, "1.234"], says("amount", "1.2340 or 1234")),
        ([BOB, "1", "\uff1d1+1"], says("memo", "formula")),
        ([BOB, "\uff0b1"], says("amount", "formula")),
        ([BOB, "1.00000000001"], says("amount", "decimals")),
        ([BOB, "1 KSM"], says("amount", "KSM", "DOT")),
        ([BOB, "max"], says("amount", "max")),
        ([BOB, "99999999999999999"], says("amount", "exist")),
        ([BOB[:-1] + "4", "1"], says("account", "checksum")),
        (["@SUM(A1)", "1"], says("account", "formula")),
        (["", "1"], says("account", "missing")),
        (["alice", "1"], says("account", "alice", "address book")),
        (["0x" + b"modlpy/trsry".ljust(32, b"\0").hex(), "1"], says("account", "py/trsry")),
        ([BOB, "1", "+49 for calls"], says("memo", "formula")),
        ([BOB, "1", "{{ address }}"], says("memo", "placeholder")),
        ([BOB, "1", "two\nlines"], says("memo", "line break")),
        ([BOB, "1", "x" * 201], says("memo", "201")),
        ([BOB, "1", "", "DOGE"], says("asset", "DOGE")),
        ([BOB, "1", "", "", "asethub"], says("chain", "asethub")),
        ([BOB, "1", "", "", "", "more"], says("line 2", "6", "5")),
        ([BOB, ".1e3"], says("amount", ".1e3", "exponent")),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_line_is_said_with_its_number_and_column(
    scenarioctl: Run, tmp_path: Path, cells: list[str], error: Says
) -> None:
    text = table(cells, header="account,amount,memo,asset,chain")

    answer = create(scenarioctl, tmp_path, text, *CHAIN)

    assert (answer["error"], answer["code"], answer["field"]) == (error, "invalid_request", "lines")
    assert [each["line"] for each in answer["mistakes"]] == [2]


def test_a_file_shows_that_its_points_are_decimal(scenarioctl: Run, tmp_path: Path) -> None:
    text = table([BOB, "1.234"], [ALICE, "0.5"])

    assert "result" in create(scenarioctl, tmp_path, text, *CHAIN)


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("", CHAIN, says("empty")),
        (f"{BOB},1\n", CHAIN, says("header", "account,amount")),
        ("account,amount,total\n", CHAIN, says("total")),
        ("account,amount,amount\n", CHAIN, says("amount", "twice")),
        ("account;amount\n", CHAIN, says("commas")),
        ("account,asset\n", CHAIN, says("no column amount")),
        (f"account,amount\n{BOB},1\n", ("--chain", "polkadot"), says("no column asset", "--asset")),
        (f"account,amount\n{BOB},1\n", ("--asset", "DOT"), says("no column chain", "--chain")),
        (f"account,amount\n{BOB},1\n", ("--asset", "DOT", "--chain", "moon"), says("moon")),
        ("account,amount\n", CHAIN, says("no payment")),
        (f'account,amount\n"{BOB},1\n', CHAIN, says("line 2", "CSV")),
        ("account,amount\n" + f"{BOB},1\n" * (MOST + 1), CHAIN, says(str(MOST))),
    ],
    ids=range(12),
)
def test_a_file_that_is_no_table_of_payments_is_refused(
    scenarioctl: Run, tmp_path: Path, text: str | bytes, line: Sequence[str], error: Says
) -> None:
    assert create(scenarioctl, tmp_path, text, *line)["error"] == error


def test_all_mistakes_are_named_at_once_the_first_ten_in_words_and_nothing_is_created(
    scenarioctl: Run, tmp_path: Path
) -> None:
    text = table([BOB, "1"], *[[somebody(number), "x"] for number in range(47)])

    answer = create(scenarioctl, tmp_path, text, *CHAIN)

    assert answer["error"] == says("47 mistakes", "line 3", "line 12", "37 more")
    assert [(each["line"], each["column"]) for each in answer["mistakes"]] == [
        (line, "amount") for line in range(3, 50)
    ]
    assert json.loads(scenarioctl("--json", "scenario", "list").out)["total"] == 0


def test_an_account_that_is_paid_twice_has_to_be_accepted(scenarioctl: Run, tmp_path: Path) -> None:
    text = table([BOB, "1", "DOT"], [BOB_HEX, "2", "DOT"], header="account,amount,asset")

    refused = create(scenarioctl, tmp_path, text, *CHAIN)
    accepted = create(scenarioctl, tmp_path, text, *CHAIN, "--yes")

    assert refused["error"] == says("line 3", "line 2", "`yes`")
    assert accepted["lines"] == 2


def test_more_than_can_exist_in_all_is_refused(scenarioctl: Run, tmp_path: Path) -> None:
    text = table(*[[somebody(number), "999999999999999"] for number in range(3)])

    assert create(scenarioctl, tmp_path, text, *CHAIN)["error"] == says("in total", "exist")


# How many transactions


def test_offline_a_transaction_has_a_stated_number_of_calls(
    scenarioctl: Run, tmp_path: Path
) -> None:
    text = table(
        *[[somebody(number), "1", "x"] for number in range(450)], header="account,amount,memo"
    )
    (tmp_path / "pay.csv").write_text(text)

    ended = scenarioctl(
        "--offline", "--json", "create", "payout", str(tmp_path / "pay.csv"), *CHAIN
    )
    with_memos = create(scenarioctl, tmp_path, text, *CHAIN, "--memos")
    small = create(scenarioctl, tmp_path, text, *CHAIN, "--portion", "200")

    assert [each["lines"] for each in json.loads(ended.out)["transactions"]] == [400, 50]
    assert ended.err.splitlines()[1] == says("400")
    assert [each["lines"] for each in with_memos["transactions"]] == [200, 200, 50]
    assert [each["lines"] for each in small["transactions"]] == [200, 200, 50]


@pytest.mark.parametrize("portion", ["0", "10001", "many"])
def test_a_portion_is_a_number_of_lines(scenarioctl: Run, tmp_path: Path, portion: str) -> None:
    assert create(scenarioctl, tmp_path, table([BOB, "1"]), *CHAIN, "--portion", portion)[
        "error"
    ] == says("portion", portion)


def weight_of(each: int) -> Any:
    """Return what dispatch info says of a batch in which every call takes *each* picoseconds."""

    def info(arguments: bytes) -> Any:
        call, _ = TABLE.decode_call_at(arguments, 0)
        weight = {"ref_time": each * len(call.args.get("calls", [0])), "proof_size": 0}
        return {"weight": weight, "class": "Normal", "partial_fee": 1}

    return info


def test_connected_the_weight_that_the_chain_tells_decides(
    scenarioctl: Run, tmp_path: Path
) -> None:
    text = table(*[[somebody(number), "1"] for number in range(1000)])
    limit = TABLE.constant("System", "BlockWeights")["per_class"]["normal"]["max_extrinsic"][
        "ref_time"
    ]
    with FakeNetwork(tmp_path) as network:
        network.chains["polkadot"].api["TransactionPaymentCallApi_query_call_info"] = weight_of(
            limit // 600
        )

        answer = create(scenarioctl, tmp_path, text, *CHAIN, config=str(network.config))

    # Three quarters of what a transaction may weigh.
    assert [each["lines"] for each in answer["transactions"]] == [450, 450, 100]


@pytest.mark.parametrize("cut", [False, True], ids=["it tells no weight", "it can't be reached"])
def test_a_chain_that_tells_no_weights_is_said(scenarioctl: Run, tmp_path: Path, cut: bool) -> None:
    (tmp_path / "pay.csv").write_text(table(*[[somebody(number), "1"] for number in range(401)]))
    with FakeNetwork(tmp_path) as network:
        if cut:
            network.cut("polkadot")

        ended = scenarioctl(
            "--config",
            str(network.config),
            "--json",
            "create",
            "payout",
            str(tmp_path / "pay.csv"),
            *CHAIN,
        )

    assert [each["lines"] for each in json.loads(ended.out)["transactions"]] == [400, 1]
    assert ended.err.splitlines()[1] == says("400")


# Deposits and balances


def test_offline_payments_below_the_deposit_are_told(scenarioctl: Run, tmp_path: Path) -> None:
    (tmp_path / "pay.csv").write_text(table([BOB, "0.001"], [ALICE, "1"]))

    ended = scenarioctl("--offline", "create", "payout", str(tmp_path / "pay.csv"), *CHAIN)

    assert ended.code == 0
    assert ended.err.splitlines()[1] == says("1 of 2", "0.001 DOT", "deposit")


def test_connected_only_accounts_that_hold_nothing_are_refused(
    scenarioctl: Run, tmp_path: Path
) -> None:
    text = table([BOB, "0.001"], [ALICE, "0.001"])
    with FakeNetwork(tmp_path) as network:
        relay = network.chains["polkadot"]
        relay.api["TransactionPaymentCallApi_query_call_info"] = weight_of(1)
        relay.store("System", "Account", BOB_KEY, value=account(5 * DOT))
        refused = create(scenarioctl, tmp_path, text, *CHAIN, config=str(network.config))
        relay.store("System", "Account", ALICE_KEY, value=account(5 * DOT))
        created = create(scenarioctl, tmp_path, text, *CHAIN, config=str(network.config))

    assert (refused["error"], [each["line"] for each in refused["mistakes"]]) == (
        says("line 3", "deposit"),
        [3],
    )
    assert created["lines"] == 2


@pytest.mark.parametrize("free", [5, 1])
def test_what_the_sender_has_left_is_told(scenarioctl: Run, tmp_path: Path, free: int) -> None:
    (tmp_path / "pay.csv").write_text(table([BOB, "1.5"]))
    with FakeNetwork(tmp_path) as network:
        relay = network.chains["polkadot"]
        relay.api["TransactionPaymentCallApi_query_call_info"] = weight_of(1)
        relay.store("System", "Account", ALICE_KEY, value=account(free * DOT))
        line = ("--json", "create", "payout", str(tmp_path / "pay.csv"), *CHAIN, "--sender", ALICE)

        ended = scenarioctl("--config", str(network.config), *line)

    (left,) = json.loads(ended.out)["left"]
    told = ("3.5 DOT", None) if free == 5 else ("0 DOT", "0.5 DOT")
    assert (left["human"], left["lacks"] and left["lacks"]["human"], left["asked"]) == (*told, 1)
    assert ended.err.splitlines()[-1] == says("1.5 DOT" if free == 1 else "3.5 DOT")


# What is stored


def test_a_payout_is_a_flow_file_too_and_comes_back_as_it_was(
    scenarioctl: Run, tmp_path: Path
) -> None:
    text = table([BOB, "1.50", 'a, "b"'], [ALICE, "2", ""], header="account,amount,memo")
    scenario = create(
        scenarioctl, tmp_path, text, *CHAIN, "--memos", "--force-batch", "--name", "May"
    )["result"]

    flow = scenarioctl("--offline", "scenario", "export", "--as", "flow", scenario).out
    (tmp_path / "flow.toml").write_text(flow)
    unchanged = scenarioctl(
        "--offline", "scenario", "edit", scenario, "--file", str(tmp_path / "flow.toml")
    )
    shown = json.loads(scenarioctl("--offline", "--json", "scenario", "show", scenario).out)

    assert (
        flow
        == f'''name = "May"

[[steps]]
type = "payout"
chain = "polkadot"
lines = """
line,account,amount,asset,memo
2,{BOB},1.5,0,\\"a, \\"\\"b\\"\\"\\"
3,{ALICE},2,0,
"""
memos = true
force_batch = true
'''
    )
    assert unchanged.err.splitlines()[-1] == says("changed")
    assert (shown["summary"], shown["title"]) == (
        "payout(polkadot)",
        "2 payments, 3.5 DOT · Polkadot",
    )
    assert (shown["nodes"][0]["text"], shown["problems"]) == (says("2 payments"), [])


def test_what_is_wrong_with_a_step_of_a_flow_is_said(scenarioctl: Run, tmp_path: Path) -> None:
    (tmp_path / "flow.toml").write_text(
        '[[steps]]\ntype = "payout"\nchain = "polkadot"\nlines = '
        f'"account,amount,asset\\n{BOB},x,DOT\\n"\n'
    )

    refused = scenarioctl("--offline", "create", str(tmp_path / "flow.toml"))

    assert (refused.code, refused.err.strip()) == (2, says("steps[0].lines", "line 2", "amount"))


MEMOS = st.text(st.characters(exclude_categories=("C", "Z")), max_size=20).filter(
    lambda text: not text.startswith(("=", "+", "-", "@")) and "{{" not in text and "<" not in text
)
LINES = st.lists(
    st.tuples(st.binary(min_size=32, max_size=32), st.integers(1, 10**25), MEMOS),
    min_size=1,
    max_size=5,
)


@given(LINES)
def test_lines_are_read_as_they_were_written_and_their_calls_decode_to_the_same(
    rows: list[tuple[bytes, int, str]],
) -> None:
    asset = APP.assets.native(POLKADOT)
    lines = [
        PayoutLine(
            number=place,
            chain=POLKADOT,
            account=who,
            asset=asset,
            raw=raw,
            amount=f"{raw}raw",
            memo=memo,
        )
        for place, (who, raw, memo) in enumerate(rows, start=2)
        if len(set(who)) > 1 and who[:4] not in (b"modl", b"para", b"sibl")
    ]
    if not lines:
        return

    again = read_lines(APP, write_lines(lines), chain=POLKADOT)
    batch = join_calls("batch-all", build_calls(again, TABLE, memos=True), TABLE).call

    assert [(each.number, each.account, each.raw, each.memo) for each in again] == [
        (each.number, each.account, each.raw, each.memo) for each in lines
    ]
    assert write_lines(read_lines(APP, write_lines(again), chain=POLKADOT)) == write_lines(again)
    assert TABLE.decode_call(TABLE.encode_call(batch)) == batch


# What a person sees of a batch


def many() -> str:
    return table(*[[somebody(number), f"{number + 1}"] for number in range(9)])


def test_a_batch_says_count_sum_and_the_largest_and_lists_all(
    scenarioctl: Run, tmp_path: Path
) -> None:
    scenario = create(scenarioctl, tmp_path, many(), *CHAIN)["result"]

    built = build(scenarioctl, scenario)["result"]
    decoded = json.loads(
        scenarioctl("--offline", "--json", "tx", "decode", built["tx"], "--chain", "polkadot").out
    )

    assert built["says"] == says(
        "9 accounts", "45 DOT", "the largest", *map(somebody, range(8, 3, -1))
    )
    assert (
        built["payments"]
        == decoded["payments"]
        == [
            {
                "account": somebody(number),
                "value": str((number + 1) * DOT),
                "amount": f"{number + 1} DOT",
            }
            for number in range(9)
        ]
    )


def test_a_payout_is_made_as_another_account(scenarioctl: Run, tmp_path: Path) -> None:
    scenarioctl("address", "add", "treasury", "--proxy-of", BOB, "--type", "Any")

    scenario = create(scenarioctl, tmp_path, many(), *CHAIN, "--as", "treasury")["result"]

    built = build(scenarioctl, scenario, "--sender", ALICE)["result"]
    call, _ = read_unsigned(TABLE, POLKADOT, unhex(built["tx"]))
    assert (call.pallet, call.method, call.args["real"]) == ("Proxy", "proxy", {"Id": BOB_KEY})
    assert len(call.args["call"]["Utility"]["batch_all"]["calls"]) == len(built["payments"]) == 9
    assert built["says"] == says("9 accounts", "45 DOT", BOB)


@pytest.mark.parametrize(
    "amount", ["1e999999999", "1e999990", "1e-9000", "NaN", "-1", "1.5 DOT", ""]
)
def test_a_payout_whose_amounts_cannot_be_summed_is_told_without_sums(
    scenarioctl: Run, tmp_path: Path, amount: str
) -> None:
    lines = table([BOB, "1", "DOT"], [BOB, amount, "DOT"], header="account,amount,asset")
    node = {"id": "a", "type": "payout", "formData": {"selectedChain": "polkadot", "lines": lines}}
    (tmp_path / "d.json").write_text(json.dumps({"nodes": [node], "edges": []}))

    created = scenarioctl("--offline", "scenario", "import", str(tmp_path / "d.json"))

    assert created.code == 0
    assert created.err.splitlines()[0].endswith(": 2 payments on Polkadot")


def test_sums_of_a_payout_are_exact(scenarioctl: Run, tmp_path: Path) -> None:
    amount = f"{10**15}.{'1'.rjust(18, '0')}"
    lines = table([BOB, amount, "DOT"], [BOB, amount, "DOT"], header="account,amount,asset")
    node = {"id": "a", "type": "payout", "formData": {"selectedChain": "polkadot", "lines": lines}}
    (tmp_path / "d.json").write_text(json.dumps({"nodes": [node], "edges": []}))

    created = scenarioctl("--offline", "scenario", "import", str(tmp_path / "d.json"))

    assert f".{'2'.rjust(18, '0')} DOT on Polkadot" in created.err
