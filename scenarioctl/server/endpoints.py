"""The table of endpoints. To add one, add a row; the handler must be in its module's `__all__`."""

from dataclasses import dataclass
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


def _page(path: str, operation: str, summary: str, **more: Any) -> Page:
    fields = {"scope": "open", "server": "both", **more}
    return Page(method="GET", path=path, operation=operation, summary=summary, **fields)


ENDPOINTS = (
    _row("POST", "/api/scenario/info", "scenarios.scenario_info"),
    _row("GET", "/api/info/preview", "previews.preview_scenario"),
    _row("GET", "/api/template/stats/{chain}", "scenarios.count_templates"),
    _row("POST", "/api/scenario/info/full", "scenarios.full_scenario_info"),
    _row("POST", "/api/scenario/batch", "builds.batch_scenario"),
    _row("POST", "/api/create/scenario", "creation.create_scenario", scope="create"),
    _row("POST", "/api/create/swap", "creation.create_swap", scope="create", flag="success"),
    _row("POST", "/api/create/remark", "creation.create_remark", scope="create"),
    _row("POST", "/api/create/query", "creation.create_query", scope="create"),
    _row("POST", "/api/create/flow", "creation.create_flow", scope="create"),
    _row("POST", "/api/create/payout", "payouts.create_payout", scope="create"),
    _row("POST", "/api/swap/quote", "swap_quotes.quote_swap"),
    _row("POST", "/api/xcm/asset-transfer", "builds.asset_transfer"),
    _row("POST", "/api/xcm/claim", "asset_traps.claim_assets"),
    _row("POST", "/api/hrmp/{relay}/openchannels", "chains.open_channels", "/{relay}/openchannels"),
    _row("POST", "/api/actions/query", "queries.query_chain"),
    _row(
        "POST",
        "/api/chain/Broadcast",
        "broadcasts.broadcast",
        "/api/chain/broadcast",
        scope="broadcast",
    ),
    _row("POST", "/api/contracts/contract_info", "queries.contract_info", flag="sucess"),
    _row("GET", "/api/scenarios", "scenarios.list_scenarios"),
    _row("GET", "/api/status", "status.show_status"),
    _row("GET", "/api/chains", "chains.list_chains"),
    _row("GET", "/api/chains/{chain}", "chains.show_chain"),
    _row("GET", "/api/chains/{chain}/pallets", "chains.list_pallets"),
    _row("GET", "/api/assets", "assets.list_assets"),
    _row("GET", "/api/assets/{asset}", "assets.show_asset"),
    _row("GET", "/api/balances", "balances.read_balances"),
    _row("GET", "/api/address", "addresses.show_address"),
    _row("GET", "/api/addresses", "addresses.list_addresses"),
    _row("POST", "/api/address/add", "addresses.add_address", scope="create"),
    _row(
        "POST",
        "/api/address/remove",
        "addresses.remove_address",
        scope="create",
        flag="success",
        destructive=True,
    ),
    _row("GET", "/api/multisig/list", "multisigs.list_operations"),
    _row("POST", "/api/multisig/approve", "multisigs.approve_operation"),
    _row("POST", "/api/multisig/execute", "multisigs.execute_operation"),
    _row("POST", "/api/multisig/cancel", "multisigs.cancel_operation"),
    _row("GET", "/api/store/check", "stores.check_store"),
    _row("POST", "/api/scenario/show", "scenarios.show_scenario"),
    _row("POST", "/api/scenario/payments", "payouts.list_payments"),
    _row("POST", "/api/flow/preview", "previews.preview_flow"),
    _row("POST", "/api/scenario/flow", "scenario_changes.scenario_flow"),
    _row("POST", "/api/scenario/replace", "scenario_changes.replace_scenario", scope="create"),
    _row(
        "POST",
        "/api/scenario/delete",
        "scenarios.delete_scenario",
        scope="create",
        flag="success",
        destructive=True,
    ),
    _row(
        "POST",
        "/api/template/saveUrl",
        "scenarios.import_scenario",
        "/saveUrl",
        scope="create",
        server="both",
        flag="success",
    ),
    _row(
        "GET",
        "/api/template/getUrl/{id}",
        "scenarios.export_scenario",
        "/getUrl/{id}",
        server="both",
        flag="success",
    ),
    _row("POST", "/api/tx/call", "builds.build_call"),
    _row("POST", "/api/tx/batch", "builds.batch_calls"),
    _row("POST", "/api/tx/transfer", "builds.transfer_tokens"),
    _row("POST", "/api/tx/decode", "views.decode_transaction"),
    _row("POST", "/api/tx/check", "views.check_transaction"),
    _row("POST", "/api/tx/payload", "payload.transaction_payload"),
    _row("POST", "/api/tx/assemble", "signed_transactions.assemble_transaction"),
    _row("GET", "/api/tx/status", "transaction_status.transaction_status"),
    _row("GET", "/api/tx/list", "transaction_history.list_transactions"),
    _row("POST", "/job/start", "jobs.start_job", scope="jobs", server="worker", flag="success"),
    _row(
        "POST",
        "/job/stop",
        "jobs.stop_job",
        scope="jobs",
        server="worker",
        flag="success",
        destructive=True,
    ),
    _row(
        "POST",
        "/job/pause",
        "job_changes.pause_job",
        scope="jobs",
        server="worker",
        flag="success",
        destructive=True,
    ),
    _row(
        "POST",
        "/job/resume",
        "job_changes.resume_job",
        scope="jobs",
        server="worker",
        flag="success",
    ),
    _row("POST", "/job/run", "jobs.run_job", scope="jobs", server="worker", flag="success"),
    _row("GET", "/job/list", "jobs.list_jobs", server="worker"),
    _row("POST", "/job/runs", "job_runs.list_runs", server="worker"),
    _row("POST", "/job/steps", "job_runs.list_steps", server="worker"),
    _row("POST", "/job/status", "jobs.job_status", server="worker"),
    _row("POST", "/scenario/worker/logs", "jobs.job_log", server="worker", flag="success"),
    _row("POST", "/scenario/tx", "jobs.job_mempool", server="worker"),
    _row(
        "POST",
        "/webhook/{uuid}",
        "webhooks.post_event",
        scope="open",
        server="both",
        flag="success",
    ),
    _row("GET", "/api/webhooks/{uuid}", "webhooks.list_events", server="both"),
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
