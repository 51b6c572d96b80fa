"""`call` and `batch`: any call of a chain from a line, and several in one transaction."""

import json
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import BUNDLED, RuntimeTable
from scenarioctl.transactions.call_builder import build_call, nest, refuse_nested
from scenarioctl.transactions.values import ValueWriter
from tests.conftest import BOB, DATA, Run
from tests.generated_values import Generator
from tests.messages import raises, says
from tests.runtimes import bundled, unhex

VECTORS = json.loads((DATA / "vectors" / "golden.json").read_text())["vectors"]
HELLO, BYE = "0x00001468656c6c6f", "0x00000c627965"
PAY = ("tx", "call", "polkadot", "Balances", "transfer_keep_alive", BOB, "10000000000")
REGISTRY = Registry()


def of_kind(kind: str) -> pytest.MarkDecorator:
    found = [pytest.param(vector, id=vector["id"]) for vector in VECTORS if vector["kind"] == kind]
    return pytest.mark.parametrize("vector", found)


@pytest.mark.parametrize(
    "line",
    [
        "call polkadot Balances.transfer_keep_alive",
        "call --chain polkadot balances TRANSFERKEEPALIVE",
        "call balances.transfer-keep-alive -c polkadot",
    ],
)
def test_a_call_and_its_chain_are_named_in_any_spelling(scenarioctl: Run, line: str) -> None:
    words = line.split()
    at = words.index("-c") if "-c" in words else len(words)
    named = scenarioctl("--offline", "tx", *words[:at], *PAY[-2:], *words[at:])

    assert named.out == scenarioctl("--offline", *PAY).out


@pytest.mark.parametrize(
    ("text", "data"), [("0xTaylor", "2030785461796c6f72"), ("0x1234", "081234")]
)
def test_what_begins_with_0x_and_is_no_hex_is_text(scenarioctl: Run, text: str, data: str) -> None:
    line = ("--offline", "tx", "call", "polkadot", "System.remark", text)

    assert scenarioctl(*line).out.endswith(f"0000{data}\n")
    assert scenarioctl(*line[:-1], "0x123").err == says("0x123", "hex").within("Error: {}\n")


@of_kind("join")
def test_a_batch_is_the_one_of_polkadot_js(
    scenarioctl: Run, vector: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "calls.txt"
    file.write_text("\n".join(vector["calls"][1:]) + "\n\n")
    line = ("--offline", "tx", "batch", vector["chain"], "--kind", vector["batch"])

    plain = scenarioctl(*line, *vector["calls"])
    with_file = scenarioctl(*line, vector["calls"][0], f"@{file}")
    with_stdin = scenarioctl(*line, vector["calls"][0], "-", stdin=file)

    assert plain.out == with_file.out == with_stdin.out == f"{vector['extrinsic_hex']}\n"


def test_a_batch_takes_extrinsics_too(scenarioctl: Run) -> None:
    extrinsics = [
        scenarioctl("--offline", "tx", "call", "polkadot", "system", "remark", text).out.strip()
        for text in ("hello", "bye")
    ]

    joined = scenarioctl("--offline", "tx", "batch", "polkadot", *extrinsics)

    assert joined.out == scenarioctl("--offline", "tx", "batch", "polkadot", HELLO, BYE).out


@pytest.mark.parametrize("chain", BUNDLED)
@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.soak), pytest.param(3, marks=pytest.mark.soak)]
)
def test_every_call_of_a_runtime_is_built_from_the_text_of_its_arguments(
    chain: str, seed: int
) -> None:
    """decode(encode(x)) == x, over the text that a person would type."""
    table = bundled(chain)
    random = Random(f"{chain} {seed}")
    generator = Generator(table.types, random)
    writer = ValueWriter(table, REGISTRY.find(chain))
    tried, refused = 0, []
    for pallet in table.pallets:
        for method in table.methods(pallet):
            call = generator.call(table, pallet, method)
            if call is None:
                continue
            words = []
            for field in table.call_fields(pallet, method):
                plain = writer.value(field.type_id, call.args[field.name])
                words.append(plain if isinstance(plain, str) else json.dumps(plain))
            try:
                built = build_call(pallet.lower(), method.replace("_", "-").upper(), words, table)
            except InvalidRequest as error:
                # Over a wrong reserve, or with an account that is not one.
                refused.append(str(error))
                continue
            assert table.encode_call(built.call) == table.encode_call(call), (
                f"{pallet}.{method} {words}"
            )
            tried += 1
    assert tried > 300
    assert [error for error in refused if "XTokens is refused" not in error] == []


def test_a_batch_of_more_calls_than_the_runtime_takes_is_refused(
    scenarioctl: Run, tmp_path: Path
) -> None:
    limit = bundled("polkadot").constant("Utility", "batched_calls_limit")
    file = tmp_path / "calls.txt"
    file.write_text(f"{HELLO}\n" * (limit + 1))

    ended = scenarioctl("--offline", "tx", "batch", "polkadot", f"@{file}")

    assert (ended.code, ended.err) == (2, says(limit, limit + 1))


def utility(method: str, *calls: Call) -> Call:
    held = [nest(call) for call in calls]
    args = {"main": held[0], "fallback": held[-1]} if method == "if_else" else {"calls": held}
    return Call(pallet="Utility", method=method, args=args)


def proxied(call: Call) -> Call:
    args = {"real": {"Id": bytes(32)}, "force_proxy_type": None, "call": nest(call)}
    return Call(pallet="Proxy", method="proxy", args=args)


@pytest.mark.parametrize("kind", ["batch-all", "batch", "force-batch"])
def test_a_batch_inside_one_of_its_kind_is_joined_and_of_another_kind_refused(
    scenarioctl: Run, kind: str
) -> None:
    table = bundled("polkadot")
    hello, bye = (table.decode_call(unhex(each)) for each in (HELLO, BYE))

    def joined(*calls: Call) -> Any:
        data = ("0x" + table.encode_call(call).hex() for call in calls)
        return scenarioctl("--offline", "tx", "batch", "polkadot", "--kind", kind, *data)

    flat = joined(hello, bye, hello, bye)

    for method in ("batch_all", "batch", "force_batch"):
        ended = joined(hello, utility(method, bye, hello), bye)
        if method == kind.replace("-", "_"):
            assert ended.out == flat.out
        else:
            assert (ended.out, ended.err) == ("", says("call 2", f"Utility.{method}"))


@pytest.mark.parametrize(
    ("around", "is_filtered"),
    [
        (("batch",), True),
        (("if_else", "force_batch"), True),
        (("proxy",), False),
        (("proxy", "if_else"), False),
        (("batch", "batch_all", "proxy"), True),
    ],
)
def test_a_batch_all_that_the_filter_of_another_one_stops_is_not_built(
    around: tuple[str, ...], is_filtered: bool
) -> None:
    """As pallet-utility filters: whatever is made with the origin of a batch_all."""
    table = bundled("polkadot")
    call = utility("batch_all", table.decode_call(unhex(BYE)))
    for method in around:
        call = proxied(call) if method == "proxy" else utility(method, call)

    with raises(InvalidRequest, says("CallFiltered")) if is_filtered else nullcontext():
        refuse_nested(utility("batch_all", call), table)


def test_a_signed_extrinsic_is_neither_an_argument_nor_part_of_a_batch(scenarioctl: Run) -> None:
    (signed, *_) = [
        v["extrinsic_hex"]
        for v in VECTORS
        if v["kind"] == "signed-extrinsic" and v["chain"] == "polkadot"
    ]

    argument = scenarioctl(
        "--offline", "tx", "call", "polkadot", "Utility", "as_derivative", "3", signed
    )
    part = scenarioctl("--offline", "tx", "batch", "polkadot", signed)

    assert [argument.err, part.err] == [says("call", "signed"), says("calls[0]", "signed")]
    assert (argument.code, part.code) == (2, 2)


def test_a_runtime_whose_calls_have_an_older_name_takes_a_call_inside_another() -> None:
    table = RuntimeTable.load(bundled("polkadot").dump())
    table.types[table.call_type][0] = "polkadot_runtime::Call"

    draft = build_call("Proxy", "proxy", [BOB, None, HELLO], table)

    assert draft.call.args["call"] == {"System": {"remark": {"remark": b"hello"}}}


def test_what_a_call_does_is_said_on_stderr_and_in_the_answer(scenarioctl: Run) -> None:
    plain, structured = scenarioctl("--offline", *PAY), scenarioctl("--offline", *PAY, "--json")

    answer = json.loads(structured.out)
    assert answer == {
        "chain": "polkadot",
        "tx": plain.out.strip(),
        "call_data": "0x" + plain.out.strip()[6:],
        "says": says("transfers 1 DOT", BOB),
        "spec_version": 2000000,
        "offline": True,
    }
    assert (plain.err, structured.err) == (says("transfers 1 DOT", BOB), "")
