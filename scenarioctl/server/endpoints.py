"""The table of endpoints, with an example of each request. To add one, add a row; the handler must
be in its module's `__all__`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NotRequired, TypedDict


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A path of the HTTP interface and its operation."""

    method: str
    #: `{name}` is a path parameter: a field of the request.
    path: str
    #: `module.handler` under `scenarioctl.operations`.
    operation: str
    #: Aliases of the path.
    also: tuple[str, ...] = ()
    #: The scope that a token must have: `read`, `create`, `broadcast` or `jobs`; `open` if no token
    #: is required.
    scope: str = "read"
    #: Which server has it: `api`, `worker` or `both`. The API also has the worker's.
    server: str = "api"
    #: The flag in the documented answer, which errors set to false; empty if it has none.
    flag: str = ""
    #: Deletes or stops something: errors about mistyped paths never suggest it.
    destructive: bool = False

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields of the request in its path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


@dataclass(frozen=True, kw_only=True)
class Page(Endpoint):
    """A path with information about the server itself, which has no operation."""

    summary: str
    content_type: str = "application/json"
    #: The type of the answer.
    answer: type = str


class Health(TypedDict):
    status: Literal["ok"]
    store: Literal["file", "postgresql"]
    #: Where the store is named: `default`, `flag`, a variable, or the name of the file of settings.
    store_from: str


class Readiness(TypedDict):
    status: Literal["ready"]


class Version(TypedDict):
    name: str
    version: str
    python: str
    role: Literal["all", "api", "worker"]
    offline: bool


class StreamEvent(TypedDict):
    """An event of a stream."""

    event: str
    #: JSON, on one line.
    data: str
    #: To go on after it, if the stream can be resumed.
    id: NotRequired[str]


def _row(method: str, path: str, operation: str, *also: str, **more: Any) -> Endpoint:
    return Endpoint(method=method, path=path, operation=operation, also=also, **more)


_get, _post = partial(_row, "GET"), partial(_row, "POST")
_create = partial(_post, scope="create")
_of_job = partial(_post, scope="jobs", server="worker", flag="success")


def _page(path: str, operation: str, summary: str, **more: Any) -> Page:
    fields = {"scope": "open", "server": "both", **more}
    return Page(method="GET", path=path, operation=operation, summary=summary, **fields)


ENDPOINTS = (
    _post("/api/scenario/info", "scenarios.scenario_info"),
    _get("/api/info/preview", "previews.preview_scenario"),
    _get("/api/template/stats/{chain}", "scenarios.count_templates"),
    _post("/api/scenario/info/full", "scenarios.full_scenario_info"),
    _post("/api/scenario/batch", "builds.batch_scenario"),
    _create("/api/create/scenario", "creation.create_scenario"),
    _create("/api/create/swap", "creation.create_swap", flag="success"),
    _create("/api/create/remark", "creation.create_remark"),
    _create("/api/create/query", "creation.create_query"),
    _create("/api/create/flow", "creation.create_flow"),
    _create("/api/create/payout", "payouts.create_payout"),
    _post("/api/swap/quote", "swap_quotes.quote_swap"),
    _post("/api/xcm/asset-transfer", "builds.asset_transfer"),
    _post("/api/xcm/claim", "asset_traps.claim_assets"),
    _post("/api/hrmp/{relay}/openchannels", "chains.open_channels", "/{relay}/openchannels"),
    _post("/api/actions/query", "queries.query_chain"),
    _post(
        "/api/chain/Broadcast", "broadcasts.broadcast", "/api/chain/broadcast", scope="broadcast"
    ),
    _post("/api/contracts/contract_info", "queries.contract_info", flag="sucess"),
    _get("/api/scenarios", "scenarios.list_scenarios"),
    _get("/api/status", "status.show_status"),
    _get("/api/chains", "chains.list_chains"),
    _get("/api/chains/{chain}", "chains.show_chain"),
    _get("/api/chains/{chain}/pallets", "chains.list_pallets"),
    _get("/api/assets", "assets.list_assets"),
    _get("/api/assets/{asset}", "assets.show_asset"),
    _get("/api/balances", "balances.read_balances"),
    _get("/api/address", "addresses.show_address"),
    _get("/api/addresses", "addresses.list_addresses"),
    _create("/api/address/add", "addresses.add_address"),
    _create("/api/address/remove", "addresses.remove_address", flag="success", destructive=True),
    _get("/api/multisig/list", "multisigs.list_operations"),
    _post("/api/multisig/approve", "multisigs.approve_operation"),
    _post("/api/multisig/execute", "multisigs.execute_operation"),
    _post("/api/multisig/cancel", "multisigs.cancel_operation"),
    _get("/api/store/check", "stores.check_store"),
    _post("/api/scenario/show", "scenarios.show_scenario"),
    _post("/api/scenario/payments", "payouts.list_payments"),
    _post("/api/flow/preview", "previews.preview_flow"),
    _post("/api/scenario/flow", "scenario_changes.scenario_flow"),
    _create("/api/scenario/replace", "scenario_changes.replace_scenario"),
    _create("/api/scenario/delete", "scenarios.delete_scenario", flag="success", destructive=True),
    _create(
        "/api/template/saveUrl",
        "scenarios.import_scenario",
        "/saveUrl",
        server="both",
        flag="success",
    ),
    _get(
        "/api/template/getUrl/{id}",
        "scenarios.export_scenario",
        "/getUrl/{id}",
        server="both",
        flag="success",
    ),
    _post("/api/tx/call", "builds.build_call"),
    _post("/api/tx/batch", "builds.batch_calls"),
    _post("/api/tx/transfer", "builds.transfer_tokens"),
    _post("/api/tx/decode", "views.decode_transaction"),
    _post("/api/tx/check", "views.check_transaction"),
    _post("/api/tx/payload", "payload.transaction_payload"),
    _post("/api/tx/assemble", "signed_transactions.assemble_transaction"),
    _get("/api/tx/status", "transaction_status.transaction_status"),
    _get("/api/tx/list", "transaction_history.list_transactions"),
    _of_job("/job/start", "jobs.start_job"),
    _of_job("/job/stop", "jobs.stop_job", destructive=True),
    _of_job("/job/pause", "job_changes.pause_job", destructive=True),
    _of_job("/job/resume", "job_changes.resume_job"),
    _of_job("/job/run", "jobs.run_job"),
    _get("/job/list", "jobs.list_jobs", server="worker"),
    _post("/job/runs", "job_runs.list_runs", server="worker"),
    _post("/job/steps", "job_runs.list_steps", server="worker"),
    _post("/job/status", "jobs.job_status", server="worker"),
    _post("/scenario/worker/logs", "jobs.job_log", server="worker", flag="success"),
    _post("/scenario/tx", "jobs.job_mempool", server="worker"),
    _post("/webhook/{uuid}", "webhooks.post_event", scope="open", server="both", flag="success"),
    _get("/api/webhooks/{uuid}", "webhooks.list_events", server="both"),
)

#: `streams.py` answers those of events, and `pages.py` the others.
PAGES = (
    _page("/healthz", "health", "Check that the process is alive", answer=Health),
    _page(
        "/readyz", "readiness", "Check that the store answers and the worker runs", answer=Readiness
    ),
    _page("/version", "version", "Show which version runs", answer=Version),
    _page(
        "/metrics",
        "metrics",
        "Metrics in Prometheus' text format",
        content_type="text/plain",
        scope="read",
    ),
    _page("/openapi.json", "openapi", "This description", answer=dict),
    _page(
        "/job/events",
        "events",
        "Follow the logs and drafts of jobs (server-sent events)",
        content_type="text/event-stream",
        answer=StreamEvent,
        scope="read",
        server="worker",
    ),
    _page(
        "/api/tx/events",
        "transaction_events",
        "Follow a sent transaction into its block and to other chains (server-sent events)",
        content_type="text/event-stream",
        answer=StreamEvent,
        scope="read",
        server="api",
    ),
)


_ACCOUNT = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
_REMARK = "0x240400071468656c6c6f"
#: Signed by the development key //Alice, with nonce 5.
_SIGNED = (
    "0xbd018400d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d0140c490cc94"
    "31726d344be1c0"
    "4e6f9aab747f7dc27f91565f8fc1c5d09adae66d6e461dff7c8a6f884fed03c3ed4cc633bc53043180bdd1"
    "0e9ed338e370a7"
    "648d0014000000001468656c6c6f"
)
#: Of _ACCOUNT, the development key //Bob, for _REMARK with nonce 0.
_SIGNATURE = (
    "0x4a28adce4c59be59ddd28f0360111a044e66b07c0c8be16c0bc6338bd5344b2027f340a63b893b955709"
    "42718f0a1c96dd0"
    "0c201c008edc9be011566575d7b88"
)
_HASH = "0xb221f1cf8189bcd4a0fb670613f2d68c93d61d958c03a6fba0644f6a04689863"
_UUID = "6f1c2d3e-4b5a-4c6d-8e7f-0a1b2c3d4e5f"
_DIAGRAM = (
    "eJyrVsrLT0ktVrKKrlbKTFGyUkpR0lEqqSxIBTFTcxIrgdy0/"
    "KJcl8SSRCWraqXi1OT8vBSgejOD2tpYHaXUlHSw7thaAHXzF/8="
)
_FLOW = '[[steps]]\ntype = "delay"\nseconds = 60\n'

#: Operation -> the fields of a request, including those in its path.
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "scenarios.scenario_info": {"id": "Xq3b9LmZt"},
    "previews.preview_scenario": {"scenario_id": "Xq3b9LmZt"},
    "scenarios.count_templates": {"chain": "hydraDx"},
    "scenarios.full_scenario_info": {"id": "Xq3b9LmZt"},
    "builds.batch_scenario": {"scenario": "Xq3b9LmZt"},
    "creation.create_scenario": {
        "source_chain": "assetHub",
        "dest_chain": "hydraDx",
        "destination_address": _ACCOUNT,
        "amount": 1.5,
        "assetid": 1984,
    },
    "creation.create_swap": {
        "assetin": 5,
        "assetout": 10,
        "amount": 1,
        "min_amount_out": "4000000",
    },
    "payouts.create_payout": {
        "lines": f"account,amount,memo\n{_ACCOUNT},1200,May\n",
        "chain": "assetHub",
        "asset": "USDT",
    },
    "payouts.list_payments": {"scenario": "Xq3b9LmZt"},
    "creation.create_remark": {"chain": "polkadot", "text": "hello"},
    "creation.create_query": {
        "chain": "polkadot",
        "pallet_name": "System",
        "method_name": "Account",
        "params": [_ACCOUNT],
    },
    "creation.create_flow": {
        "flow": {"steps": [{"type": "Remark", "chain": "polkadot", "text": "hello"}]},
        "syntax": "json",
    },
    "asset_traps.claim_assets": {"chain": "assetHub", "trapped_in": 13000000},
    "swap_quotes.quote_swap": {"assetin": 5, "assetout": 10, "amount": 1},
    "builds.asset_transfer": {
        "sourchain": "assetHub",
        "destchain": "hydraDx",
        "assetid": "1984",
        "amount": 1500000,
        "destinationaddress": _ACCOUNT,
    },
    "chains.open_channels": {"relay": "polkadot", "paraid": 2034},
    "chains.list_chains": {"role": "relay"},
    "chains.show_chain": {"chain": "hydraDx"},
    "chains.list_pallets": {"chain": "polkadot", "item": "Balances.transfer_keep_alive"},
    "assets.list_assets": {"chain": "hydraDx", "canonical": True},
    "assets.show_asset": {"asset": "USDT", "chain": "hydraDx"},
    "addresses.show_address": {"address": _ACCOUNT},
    "addresses.list_addresses": {},
    "addresses.add_address": {"name": "Alice", "address": _ACCOUNT, "watch": True},
    "addresses.remove_address": {"name": "Alice"},
    "multisigs.list_operations": {"as": "council", "chains": ["assetHub"]},
    **{
        f"multisigs.{name}_operation": {
            "as": "council",
            "call_hash": _HASH,
            "chain": "assetHub",
            "sender": _ACCOUNT,
        }
        for name in ("approve", "execute", "cancel")
    },
    "balances.read_balances": {"address": _ACCOUNT, "chains": ["polkadot", "assetHub"]},
    "queries.query_chain": {
        "chain": "polkadot",
        "pallet_name": "System",
        "method_name": "Number",
        "params": [],
    },
    "broadcasts.broadcast": {"chain": "polkadot", "tx": _SIGNED},
    "transaction_events": {"chain": "polkadot", "hash": _HASH},
    "transaction_status.transaction_status": {"chain": "polkadot", "hash": _HASH},
    "transaction_history.list_transactions": {"chain": "polkadot", "since": "30d"},
    "queries.contract_info": {
        "abiJson": {
            "version": "4",
            "spec": {
                "messages": [
                    {
                        "label": "flip",
                        "selector": "0x633aa551",
                        "mutates": True,
                        "args": [],
                        "payable": False,
                    }
                ]
            },
            "types": [],
        },
        "address": _ACCOUNT,
    },
    "scenarios.list_scenarios": {"limit": 10, "chain": "hydraDx"},
    "scenarios.show_scenario": {"scenario": "Xq3b9LmZt"},
    "previews.preview_flow": {"flow": _FLOW, "format": "svg"},
    "scenario_changes.scenario_flow": {"scenario": "Xq3b9LmZt"},
    "scenario_changes.replace_scenario": {"scenario": "Xq3b9LmZt", "content": _FLOW},
    "scenarios.delete_scenario": {"scenario": "Xq3b9LmZt"},
    "scenarios.import_scenario": {"url": _DIAGRAM},
    "scenarios.export_scenario": {"id": "Xq3b9LmZt"},
    "builds.build_call": {
        "chain": "polkadot",
        "pallet": "System",
        "method": "remark",
        "args": ["hello"],
    },
    "builds.transfer_tokens": {
        "source_chain": "assetHub",
        "dest_chain": "hydraDx",
        "assetid": "USDT",
        "amount": "1.5",
        "destination_address": _ACCOUNT,
    },
    "builds.batch_calls": {"chain": "polkadot", "calls": ["0x00001468656c6c6f", "0x00000c627965"]},
    "views.decode_transaction": {"tx": _REMARK, "chain": "polkadot"},
    "views.check_transaction": {
        "sender": _ACCOUNT,
        "tx": _REMARK,
        "chain": "polkadot",
    },
    "payload.transaction_payload": {
        "tx": _REMARK,
        "chain": "polkadot",
        "sender": _ACCOUNT,
        "nonce": 0,
    },
    "signed_transactions.assemble_transaction": {
        "payload": {
            "address": _ACCOUNT,
            "blockHash": "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3",
            "blockNumber": "0x00000000",
            "era": "0x00",
            "genesisHash": "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3",
            "method": "0x00071468656c6c6f",
            "nonce": "0x00000000",
            "signedExtensions": [
                "CheckNonZeroSender",
                "CheckSpecVersion",
                "CheckTxVersion",
                "CheckGenesis",
                "CheckMortality",
                "CheckNonce",
                "CheckWeight",
                "ChargeTransactionPayment",
                "PrevalidateAttests",
                "CheckMetadataHash",
            ],
            "specVersion": "0x001e8480",
            "tip": "0x00000000000000000000000000000000",
            "transactionVersion": "0x0000001a",
            "version": 4,
        },
        "signature": _SIGNATURE,
    },
    "jobs.start_job": {"id": "Xq3b9LmZt", "every": "12h"},
    "jobs.stop_job": {"id": "Xq3b9LmZt"},
    "job_changes.pause_job": {"scenario": "Xq3b9LmZt"},
    "job_changes.resume_job": {"scenario": "Xq3b9LmZt"},
    "jobs.run_job": {"scenario": "Xq3b9LmZt"},
    "jobs.list_jobs": {"state": "running"},
    "jobs.job_status": {"scenario": "Xq3b9LmZt"},
    "job_runs.list_runs": {"scenario": "Xq3b9LmZt", "limit": 1},
    "job_runs.list_steps": {"scenario": "Xq3b9LmZt"},
    "jobs.job_log": {"id": "Xq3b9LmZt"},
    "jobs.job_mempool": {"id": "Xq3b9LmZt"},
    "webhooks.post_event": {"uuid": _UUID, "content": {"address": _ACCOUNT, "amount": 1.5}},
    "webhooks.list_events": {"uuid": _UUID},
}
