"""Every documented endpoint over a real socket: its example as documented, its whole answer."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.canned import answers as reading
from tests.conftest import BOB, DATA
from tests.node import Node
from tests.serving import Reply, Serving
from tests.test_broadcast import GOOD, HASH
from tests.test_broadcast import answers as broadcasting
from tests.test_query import channels

SCENARIO = {
    "source_chain": "assetHub",
    "dest_chain": "hydraDx",
    "destination_address": BOB,
    "amount": 1.5,
    "assetid": 1984,
}
TRANSFER = {
    "sourchain": "assetHub",
    "destchain": "hydraDx",
    "assetid": "1984",
    "amount": 1000000,
    "destinationaddress": BOB,
}
UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
TXDATA = (
    "0x3101041f0d05010100c91f05040002043205011f0002093d0001050002043205011f0105040d0102040001010"
    "08eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a4800"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served")) as serving:
        yield serving


@pytest.fixture(scope="module")
def stored(served: Serving) -> str:
    reply = served.post("/api/create/scenario", SCENARIO)
    assert reply.status == 200
    return str(reply.json()["result"])


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[Any]:
    """Serve with polkadot at a node that answers as told."""
    opened: list[Any] = []

    def serve(answers: dict[str, Any]) -> Serving:
        node = Node(answers).__enter__()
        opened.append(node)
        serving = Serving(
            tmp_path, offline=False, chains={"polkadot": {"endpoints": [node.url]}}
        ).__enter__()
        opened.append(serving)
        return serving

    yield serve
    for each in reversed(opened):
        each.__exit__(None, None, None)


def answered(reply: Reply) -> Any:
    """Return the JSON of an answer that went well."""
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    return reply.json()


# The scenario API


def test_1_a_scenario_is_summarised(served: Serving, stored: str) -> None:
    assert answered(served.post("/api/scenario/info", {"id": stored})) == {
        "result": "assetHub > xTransfer > hydraDx"
    }


def test_2_a_preview_takes_the_id_from_the_body_of_a_get(served: Serving, stored: str) -> None:
    reply = served.send(
        "GET",
        "/api/info/preview",
        json.dumps({"scenario_id": stored}),
        {"Content-Type": "application/json"},
    )

    preview = answered(reply)
    assert list(preview) == ["info", "img"]
    assert preview["info"] == "assetHub > xTransfer > hydraDx"
    assert base64.b64decode(preview["img"], validate=True).startswith(b"\x89PNG\r\n")


def test_2_a_preview_takes_the_id_from_the_query_string_too(served: Serving, stored: str) -> None:
    assert answered(served.get(f"/api/info/preview?scenario_id={stored}"))["info"] == (
        "assetHub > xTransfer > hydraDx"
    )


def test_3_templates_of_a_chain_are_counted(tmp_path: Path) -> None:
    with Serving(tmp_path) as serving:
        for _ in range(2):
            serving.post("/api/create/scenario", SCENARIO)
        serving.post("/api/create/remark", {"chain": "polkadot", "text": "hello"})

        counts = [
            answered(serving.get(f"/api/template/stats/{chain}"))
            for chain in ("hydraDx", "ASSETHUB", "polkadot", "kusama")
        ]

    assert counts == [{"Amount": 2}, {"Amount": 2}, {"Amount": 1}, {"Amount": 0}]


def test_4_a_scenario_is_described_in_full(served: Serving, stored: str) -> None:
    result = answered(served.post("/api/scenario/info/full", {"id": stored}))

    assert result == {
        "result": {
            "tx": TXDATA.replace("02093d00", "828d5b00"),
            "says": (
                "sends 1.5 USDt from Polkadot Asset Hub to Hydration (reserve on Polkadot "
                f"Asset Hub) for {BOB}"
            ),
            "summary": "assetHub > xTransfer > hydraDx",
            "asset": "1984",
            "amount": "1.5",
            "source_chain": "assetHub",
            "dest_chain": "hydraDx",
            "txtype": "xTransfer",
            "spec_version": 2003001,
            "offline": True,
        }
    }


def test_5_a_scenario_is_created(served: Serving) -> None:
    result = answered(served.post("/api/create/scenario", SCENARIO))

    assert list(result) == ["result"]
    assert re.fullmatch("[A-Za-z0-9]{9}", result["result"])


def test_5_numbers_may_come_as_text(served: Serving) -> None:
    texts = {**SCENARIO, "amount": "1.5", "assetid": "1984"}

    made = [
        answered(served.post("/api/create/scenario", each))["result"] for each in (SCENARIO, texts)
    ]

    drafted = [answered(served.post("/api/scenario/info/full", {"id": each})) for each in made]
    assert drafted[0] == drafted[1]


def test_6_a_swap_is_created_and_drafted(served: Serving) -> None:
    result = answered(
        served.post(
            "/api/create/swap",
            {"assetin": 5, "assetout": 10, "amount": 1, "min_amount_out": "4000000"},
        )
    )

    scenario = result["swap"].pop("scenarioid")
    assert result == {
        "success": True,
        "swap": {
            "swap_tx": (
                "0xac043b05050000000a00000000e40b5402000000000000000000000000093d00000000000000"
                "000000000000"
            ),
            "spec_version": 428,
            "offline": True,
        },
    }
    assert answered(served.post("/api/scenario/info", {"id": scenario})) == {
        "result": "hydraDx > swap > hydraDx"
    }


def test_6_a_swap_that_nobody_can_quote_says_so_beside_its_flag(served: Serving) -> None:
    reply = served.post("/api/create/swap", {"assetin": 5, "assetout": 10, "amount": 1})

    advice = "Give the minimum with `min_received`, or in the smallest unit with `min_amount_out`."
    assert (reply.status, reply.json()) == (
        503,
        {
            "success": False,
            "error": (
                "a swap without a minimum received needs a quote from Hydration, which can't "
                f"be asked offline. {advice}"
            ),
            "code": "chain_unreachable",
            "advice": advice,
        },
    )


@pytest.mark.parametrize("spelling", ["destchain", "deschain"])
@pytest.mark.parametrize("amount", [1000000, "1000000", 1e6])
def test_7_a_transfer_is_built(served: Serving, spelling: str, amount: Any) -> None:
    fields = {**TRANSFER, "amount": amount}
    fields[spelling] = fields.pop("destchain")

    reply = served.post("/api/xcm/asset-transfer", fields)

    assert answered(reply) == {"txdata": TXDATA, "spec_version": 2003001, "offline": True}


def test_7_both_spellings_of_the_destination_may_agree_but_not_differ(served: Serving) -> None:
    agreeing = served.post("/api/xcm/asset-transfer", {**TRANSFER, "deschain": "hydraDx"})
    differing = served.post("/api/xcm/asset-transfer", {**TRANSFER, "deschain": "polkadot"})

    assert agreeing.status == 200
    assert (differing.status, differing.json()) == (
        422,
        {
            "error": (
                "destchain 'hydraDx' and deschain 'polkadot' are the same field and differ; "
                "give one of them"
            ),
            "code": "invalid_request",
            "field": "destchain",
            "value": "hydraDx",
        },
    )


@pytest.mark.parametrize("path", ["/api/hrmp/polkadot/openchannels", "/polkadot/openchannels"])
def test_8_open_channels_are_listed(connected: Any, path: str) -> None:
    serving = connected(reading("polkadot", channels([2030, 1000], [1000, 2000])))

    assert answered(serving.post(path, {"paraid": 2034})) == {
        "open_hrmp_channels": [1000, 2000, 2030],
        "sourcechain": 2034,
    }


def test_9_a_chain_is_queried(connected: Any) -> None:
    serving = connected(reading("polkadot"))

    result = answered(
        serving.post(
            "/api/actions/query",
            {
                "chain": "polkadot",
                "pallet_name": "Balances",
                "method_name": "ExistentialDeposit",
                "params": [],
            },
        )
    )

    # `result` is what the interface documents.
    assert result == {"result": "10000000000", "value": "10000000000", "asked": 1, "human": "1 DOT"}


@pytest.mark.parametrize("path", ["/api/chain/Broadcast", "/api/chain/broadcast"])
def test_10_a_signed_transaction_is_broadcast(connected: Any, path: str) -> None:
    serving = connected(broadcasting())

    assert answered(serving.post(path, {"chain": "polkadot", "tx": GOOD})) == {
        "status": "broadcasted",
        "hash": HASH,
    }


def test_10_what_is_no_transaction_is_judged_before_the_chain_is_asked(served: Serving) -> None:
    reply = served.post("/api/chain/Broadcast", {"chain": "polkadot", "tx": "0x1234"})

    assert (reply.status, reply.json()) == (
        422,
        {
            "error": (
                "tx 0x1234 is not a signed extrinsic of Polkadot: it does not begin with a "
                "length and a version, as every extrinsic does"
            ),
            "code": "invalid_request",
            "field": "tx",
            "value": "0x1234",
        },
    )


def test_11_a_contract_is_described(served: Serving) -> None:
    abi = json.loads((DATA / "contracts" / "token-v4.json").read_text())

    assert answered(
        served.post("/api/contracts/contract_info", {"abiJson": abi, "address": BOB})
    ) == {
        "sucess": True,
        "description": [
            {
                "function_name": "PSP22::transfer",
                "selector": "0xdb20f9f5",
                "mutates": True,
                "args": ["to: AccountId", "value: u128", "data: Vec<u8>"],
            },
            {
                "function_name": "PSP22::total_supply",
                "selector": "0x162df8c2",
                "mutates": False,
                "args": [],
            },
        ],
        "onchain": None,
    }


def test_7_an_amount_that_is_wrong_stands_beside_its_sentence(served: Serving) -> None:
    reply = served.post("/api/xcm/asset-transfer", {**TRANSFER, "amount": 0})

    said = reply.json()
    assert (reply.status, said["field"], said["value"], said["expected"]) == (
        422,
        "amount",
        0,
        "a number above zero",
    )


SWAP = {"assetin": 5, "assetout": 10, "amount": 1, "min_received": 1}


@pytest.mark.parametrize(
    ("path", "body", "field", "value"),
    [
        ("/api/create/remark", {"chain": "polkadot", "text": ""}, "text", ""),
        ("/api/create/swap", {**SWAP, "min_amount_out": "7"}, "min_amount_out", "7"),
        ("/api/create/flow", {"flow": "gm"}, "flow", "gm"),
        ("/api/xcm/asset-transfer", {**TRANSFER, "allow_death": True}, "allow_death", True),
        ("/api/chain/broadcast", {"chain": "polkadot", "tx": GOOD, "draft": 3}, "draft", 3),
        ("/api/address/add", {"name": "Bob", "address": BOB, "at": "1-2"}, "at", "1-2"),
    ],
)
def test_an_error_has_the_field_at_fault_and_what_it_was_sent(
    served: Serving, path: str, body: dict[str, Any], field: str, value: object
) -> None:
    said = served.post(path, body).json()

    assert (said["field"], said["value"]) == (field, value)


def test_a_conflict_names_the_field_too(served: Serving) -> None:
    served.post("/api/address/add", {"name": "Bob", "address": BOB})
    name = served.post("/api/address/add", {"name": "Bob", "address": f"0x{7:064x}"}).json()
    address = served.post("/api/address/add", {"name": "Robert", "address": BOB}).json()

    assert (name["code"], name["field"], name["value"]) == ("conflict", "name", "Bob")
    assert (address["code"], address["field"], address["value"]) == ("conflict", "address", BOB)


def test_11_an_error_has_the_flag_as_the_interface_spells_it(served: Serving) -> None:
    reply = served.post("/api/contracts/contract_info", {"abiJson": {}, "address": BOB})

    assert (reply.status, reply.json()) == (
        422,
        {
            "sucess": False,
            "error": (
                "abiJson has no version, expected ink! metadata version 3 (under V3), 4, 5 or 6"
            ),
            "code": "invalid_request",
            "field": "abiJson",
            "expected": "ink! metadata version 3 (under V3), 4, 5 or 6",
        },
    )


# The job worker


def test_w1_w2_a_job_is_started_and_stopped(served: Serving, stored: str) -> None:
    told = [
        answered(served.post(path, {"id": stored}, port=served.worker))
        for path in ("/job/start", "/job/start", "/job/stop", "/job/stop")
    ]

    assert told == [
        {"success": True, "result": "Job started"},
        {"success": True, "result": "Job already running"},
        {"success": True, "result": "Job stopped"},
        {"success": True, "result": "Job not running"},
    ]


def test_w3_w4_what_a_run_leaves_is_read(tmp_path: Path) -> None:
    with Serving(tmp_path) as serving:
        scenario = serving.post(
            "/api/create/remark", {"chain": "polkadot", "text": "hello"}
        ).json()["result"]
        serving.post("/job/run", {"id": scenario}, port=serving.worker)

        log = answered(serving.post("/scenario/worker/logs", {"id": scenario}, port=serving.worker))
        mempool = answered(serving.post("/scenario/tx", {"id": scenario}, port=serving.worker))

    assert list(log) == ["success", "result"]
    assert log["success"] is True
    assert log["result"][-1] == "workload executed"
    (entry,) = mempool["mempool"]
    assert list(mempool) == ["mempool"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", entry.pop("Date"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", entry.pop("expires"))
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", entry.pop("uuid"))
    assert entry.pop("node").startswith("action_")
    assert entry == {
        "seq": 1,
        "chain": "polkadot",
        "amount": "0",
        "txType": "Remark",
        "tx": "0x240400071468656c6c6f",
        "spec_version": 2000000,
        "state": "current",
    }


def test_the_worker_s_endpoints_are_on_the_api_too_where_one_process_has_both(
    served: Serving, stored: str
) -> None:
    replies = [
        served.post(path, {"id": stored}, port=served.api)
        for path in ("/job/stop", "/job/status", "/scenario/worker/logs", "/scenario/tx")
    ]

    assert [reply.status for reply in replies] == [200] * 4


# Share strings and webhooks, on both servers


@pytest.mark.parametrize("server", ["api", "worker"])
@pytest.mark.parametrize(
    ("save", "get"),
    [("/api/template/saveUrl", "/api/template/getUrl/{}"), ("/saveUrl", "/getUrl/{}")],
)
def test_a_share_string_is_saved_and_given_back(
    served: Serving, server: str, save: str, get: str
) -> None:
    share = json.loads((DATA / "vectors" / "share.json").read_text())["vectors"][0]["shares"][
        "plain"
    ]
    port = getattr(served, server)

    saved = answered(served.post(save, {"url": share}, port=port))
    given = answered(served.get(get.format(saved["shortUrl"]), port=port))

    assert saved == {"success": True, "shortUrl": saved["shortUrl"]}
    assert list(given) == ["success", "longUrl"]
    assert given["success"] is True


@pytest.mark.parametrize("server", ["api", "worker"])
def test_a_webhook_takes_any_json_for_a_uuid_that_a_scenario_names(
    tmp_path: Path, server: str
) -> None:
    diagram = (DATA / "diagrams" / "webhook_query.json").read_text()
    with Serving(tmp_path) as serving:
        port = getattr(serving, server)
        before = serving.post(f"/webhook/{UUID}", {}, port=port)
        serving.post("/saveUrl", {"url": diagram})
        posted = [
            answered(serving.post(f"/webhook/{UUID}", content, port=port))
            for content in ({"address": BOB, "uuid": "theirs"}, [1, None], "text", None, 0.5)
        ]
        events = answered(serving.get(f"/api/webhooks/{UUID}", port=port))["events"]

    assert (before.status, before.json()["code"]) == (404, "not_found")
    assert [each["success"] for each in posted] == [True] * 5
    assert [each["content"] for each in events] == [
        {"address": BOB, "uuid": "theirs"},
        [1, None],
        "text",
        None,
        0.5,
    ]


@pytest.mark.parametrize("server", ["api", "worker"])
def test_an_event_that_is_delivered_again_is_one_event(tmp_path: Path, server: str) -> None:
    """Case 31: senders repeat an event after a slow answer."""
    diagram = (DATA / "diagrams" / "webhook_query.json").read_text()
    with Serving(tmp_path) as serving:
        serving.post("/saveUrl", {"url": diagram})

        def post(key: str, content: Any) -> Reply:
            more = {"Idempotency-Key": key} if key else {}
            return serving.post(f"/webhook/{UUID}", content, port=getattr(serving, server), **more)

        event = {"id": "evt_1", "amount": "12.5"}
        answers = [
            post(key, content)
            for key, content in (
                ("evt_1", event),
                ("evt_1", event),
                ("evt_1", {**event, "amount": "13"}),
                ("k" * 256, event),
                ("evt_2", event),
                ("", event),
            )
        ]
        events = answered(serving.get(f"/api/webhooks/{UUID}"))["events"]

    first = answers[0].json()["id"]
    assert [each.json().get("id") for each in answers] == [
        *(first, first, None, None),
        *(first + 1, first + 2),
    ]
    for each in answers[2:4]:
        refused = each.json()
        assert (each.status, refused["success"], refused["field"]) == (
            422,
            False,
            "Idempotency-Key",
        )
    assert [each["id"] for each in events] == [first, first + 1, first + 2]


# What no endpoint of the document does


def test_our_own_endpoints_answer_too(served: Serving, stored: str) -> None:
    made = [
        answered(served.post("/api/create/remark", {"chain": "polkadot", "text": "hello"})),
        answered(
            served.post(
                "/api/create/query",
                {"chain": "polkadot", "pallet_name": "System", "method_name": "Number"},
            )
        ),
        answered(
            served.post(
                "/api/create/flow",
                {
                    "flow": {"steps": [{"type": "Remark", "chain": "polkadot", "text": "hello"}]},
                    "syntax": "json",
                },
            )
        ),
    ]
    page = answered(served.get("/api/scenarios?limit=2&sort=id&descending=true"))
    shown = answered(served.post("/api/scenario/show", {"id": stored}))
    jobs = answered(served.get("/job/list?limit=5", port=served.worker))
    deleted = answered(served.post("/api/scenario/delete", {"id": made[0]["result"]}))
    decoded = answered(served.post("/api/tx/decode", {"tx": TXDATA, "chain": "assetHub"}))

    assert [list(each) for each in made] == [["result"]] * 3
    assert len(page["scenarios"]) == 2
    assert shown["problems"] == []
    assert set(jobs) == {"jobs", "total", "next"}
    assert deleted == {"success": True, "result": f"Deleted {made[0]['result']}"}
    assert decoded["form"] == "extrinsic"
