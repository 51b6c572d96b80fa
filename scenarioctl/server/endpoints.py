"""The table of endpoints. To add one, add a row; the handler must be in its module's `__all__`."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NotRequired, TypedDict, get_args, get_type_hints

from scenarioctl.operations import find_handler


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


def answer_type(row: Endpoint) -> Any:
    """Return the type of the answers of *row*."""
    (answer,) = get_args(get_type_hints(find_handler(row.operation)[0])["return"])
    return answer
