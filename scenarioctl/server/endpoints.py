"""THE table of endpoints.  To add one, add a row; the handler must be in its module's `__all__`."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One path of the interface and the operation behind it."""

    method: str
    #: `{name}` is a path parameter: a field of the request.
    path: str
    #: `module.handler` under `scenarioctl.operations`.
    operation: str
    #: Other paths, and other spellings, that mean the same.
    also: tuple[str, ...] = ()


def _row(method: str, path: str, operation: str, *also: str) -> Endpoint:
    return Endpoint(method=method, path=path, operation=operation, also=also)


ENDPOINTS = (
    _row("POST", "/api/scenario/info", "scenarios.scenario_info"),
    _row("GET", "/api/template/stats/{chain}", "templates.count_templates"),
    _row("POST", "/api/scenario/info/full", "scenarios.full_scenario_info"),
    _row("POST", "/api/create/scenario", "creation.create_scenario"),
    _row("POST", "/api/create/swap", "creation.create_swap"),
    _row("POST", "/api/create/remark", "creation.create_remark"),
    _row("POST", "/api/create/query", "creation.create_query"),
    _row("POST", "/api/create/flow", "creation.create_flow"),
    _row("POST", "/api/swap/quote", "quotes.quote_swap"),
    _row("POST", "/api/xcm/asset-transfer", "transfers.asset_transfer"),
    _row("POST", "/api/hrmp/{relay}/openchannels", "channels.open_channels", "/{relay}/openchannels"),
    _row("POST", "/api/actions/query", "queries.query_chain"),
    _row("POST", "/api/chain/Broadcast", "broadcasts.broadcast", "/api/chain/broadcast"),
    _row("POST", "/api/contracts/contract_info", "contracts.contract_info"),
    _row("GET", "/api/scenarios", "scenarios.list_scenarios"),
    _row("POST", "/api/scenario/show", "scenarios.show_scenario"),
    _row("POST", "/api/scenario/delete", "scenarios.delete_scenario"),
    _row("POST", "/api/template/saveUrl", "scenarios.import_scenario", "/saveUrl"),
    _row("GET", "/api/template/getUrl/{id}", "scenarios.export_scenario", "/getUrl/{id}"),
    _row("POST", "/api/tx/decode", "transactions.decode_transaction"),
    _row("POST", "/api/tx/check", "checks.check_transaction"),
    _row("POST", "/api/tx/payload", "transactions.transaction_payload"),
    _row("POST", "/api/tx/assemble", "assembly.assemble_transaction"),
)
