"""Commands, endpoints and operations are the same set of handlers, and speak of the same fields."""

import inspect
import pkgutil
from dataclasses import fields
from importlib import import_module
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import click
import pytest

import scenarioctl.operations
from scenarioctl import errors
from scenarioctl.cli.main import cli
from scenarioctl.cli.options import GLOBAL_OPTIONS
from scenarioctl.operations.results import OUTCOMES, Result
from scenarioctl.server.endpoints import ENDPOINTS

#: Commands that are no operation, and why.
LOCAL = {
    "chain refresh": "fills this machine's cache; a client has its own",
    "completion show": "teaches the shells of this machine",
    "config show": "settings of this machine",
    "config init": "settings of this machine",
    "config set": "settings of this machine",
    "config token": "makes a secret, which no daemon hands out",
    "store init": "needs the rights of the tables' owner, which no daemon has",
    "store backup": "writes a file of this machine",
    "store restore": "replaces the store, which no daemon may use meanwhile",
    "store copy": "needs the rights of the tables' owner, and two stores that no daemon uses",
    "daemon": "is what serves the others",
    "doctor": "checks this machine; a daemon has /readyz and store check",
    "help": "the help of this program; a daemon has /openapi.json",
}

#: Options that belong to the command line and not to the request, and why.
ONLY_ON_THE_LINE = {
    ("addresses.add_address", "multisig"): "threshold and signatories in one",
    ("jobs.job_log", "follow"): "one request has one answer; over HTTP /job/events follows",
    ("jobs.job_mempool", "follow"): "one request has one answer; over HTTP /job/events follows",
    ("jobs.job_log", "runs"): "runs another operation",
    ("jobs.job_log", "steps"): "runs another operation",
    ("scenarios.full_scenario_info", "every"): "how the answer is printed, which has all of them",
    ("scenarios.full_scenario_info", "together"): "runs another operation",
    ("scenarios.export_scenario", "syntax"): "of a flow file, which another operation writes",
    ("scenarios.export_scenario", "or_diagram"): "of a flow file, which another operation writes",
    ("creation.create_flow", "file"): "an old spelling of path",
    ("creation.create_swap", "quote"): "runs another operation",
    ("jobs.list_jobs", "watches"): "asks for every page, again and again",
    ("multisigs.approve_operation", "execute"): "runs another operation",
    ("multisigs.approve_operation", "cancel"): "runs another operation",
    ("scenarios.show_scenario", "payments"): "runs another operation",
    ("scenarios.show_scenario", "csv"): "of the payments",
    ("status.show_status", "store_only"): "runs another operation",
    ("webhooks.list_events", "content"): "runs another operation",
    ("webhooks.list_events", "idempotency_key"): "of an event that is posted",
    ("previews.preview_scenario", "output"): "where the picture is written",
    ("scenarios.delete_scenario", "yes"): "answers the question that the terminal asks",
    ("previews.preview_scenario", "syntax"): "of a flow file, which another operation draws",
    ("payload.transaction_payload", "qr_file"): "a drawing of vault_payload",
}

#: Fields of a request that a command fills in itself, and why.
FILLED_IN = {
    ("tx check", "unit"): "its amount is in whole tokens",
    ("address add", "threshold"): "a part of --multisig",
    ("address add", "signatories"): "a part of --multisig",
}

#: Parameters of a command that have another name in the request, and why.
RENAMED = {
    ("scenario_id", "id"): "`id` is a Python builtin",
    ("source", "url"): "the interface calls a share string a url",
    ("ids", "id"): "one request removes one scenario",
    ("file", "content"): "the option names a file, the field is its content",
    ("csv_file", "lines"): "the argument names a file, the field is its content",
    ("path", "flow"): "the argument names a file, the field is its content",
    ("abi", "abiJson"): "the option names a file, the field is its content",
}


def operations() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(scenarioctl.operations.__path__):
        loaded = import_module(f"scenarioctl.operations.{module.name}")
        found |= {
            f"{module.name}.{name}": getattr(loaded, name)
            for name in getattr(loaded, "__all__", ())
        }
    return found


def commands() -> dict[str, click.Command]:
    """Return every command that does something, by its words."""
    found: dict[str, click.Command] = {}

    def walk(command: click.Command, words: tuple[str, ...]) -> None:
        if isinstance(command, click.Group):
            if getattr(command, "operation", ""):
                found[" ".join(words)] = command
            for name, below in command.commands.items():
                walk(below, (*words, name))
        else:
            found[" ".join(words)] = command

    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        walk(command, (name,))
    return found


def request_of(handler: Any) -> Any:
    return get_type_hints(handler)["request"]


def test_commands_and_operations_are_the_same_set() -> None:
    by_command = {words: getattr(command, "operation", "") for words, command in commands().items()}

    assert {words for words, operation in by_command.items() if not operation} == set(LOCAL)
    others = {each for command in commands().values() for each in getattr(command, "others", ())}
    assert {operation for operation in by_command.values() if operation} | others == set(
        operations()
    )


def test_endpoints_and_operations_are_the_same_set() -> None:
    by_endpoint = [endpoint.operation for endpoint in ENDPOINTS]

    assert sorted(by_endpoint) == sorted(operations())


def test_no_two_endpoints_share_a_path() -> None:
    paths = [
        (endpoint.method, path)
        for endpoint in ENDPOINTS
        for path in (endpoint.path, *endpoint.also)
    ]

    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("words", sorted(words for words in commands() if words not in LOCAL))
def test_a_commands_parameters_are_the_requests_fields(words: str) -> None:
    command = commands()[words]
    operation = getattr(command, "operation", "")
    own = {str(option.name) for option in GLOBAL_OPTIONS} | {"help"}
    names = {field.name for field in fields(request_of(operations()[operation]))}
    names -= {"strict", *(name for command, name in FILLED_IN if command == words)}
    renamed = {ours: theirs for ours, theirs in RENAMED if ours not in names}
    parameters = {
        renamed.get(str(parameter.name), str(parameter.name))
        for parameter in command.params
        if parameter.name not in own and (operation, parameter.name) not in ONLY_ON_THE_LINE
    }

    assert parameters == names


@pytest.mark.parametrize("name", sorted(operations()))
def test_a_handler_takes_the_application_and_a_request_and_returns_a_typed_answer(
    name: str,
) -> None:
    handler = operations()[name]
    result = get_type_hints(handler)["return"]

    assert inspect.iscoroutinefunction(handler)
    assert list(inspect.signature(handler).parameters) == ["app", "request"]
    assert get_origin(result) is Result
    assert is_typeddict(*get_args(result))


#: Handlers whose answers say nothing about money that a node told, and why.
NO_MONEY_OF_NODES = {
    "addresses": "read from the address alone",
    "assets": "facts of the release and of config.toml",
    "chains": "facts of the release and of config.toml, and the runtime's constants",
    "chains.open_channels": "parachains, without an amount",
    "queries.contract_info": "whether a contract is there",
    "job_changes": "what a job is told to do",
    "job_runs": "the runs that the store has",
    "jobs": (
        "what the store has of jobs: a draft's amount is its scenario's, and a query's is what "
        "its run was told"
    ),
    "pallets": "what the runtime's table has",
    "previews": "what the diagram says",
    "scenario_changes": "what the scenario says",
    "scenarios.delete_scenario": "that it is gone",
    "scenarios.export_scenario": "the diagram",
    "scenarios.import_scenario": "the diagram",
    "scenarios.list_scenarios": (
        "what the store has, with the states that were confirmed when they were stored"
    ),
    "scenarios.scenario_info": "what the diagram says",
    "scenarios.show_scenario": "what the diagram says",
    "status.show_status": "the blocks of chains, and what the store has",
    "stores.check_store": "the store",
    "scenarios.count_templates": "how many the store has",
    "webhooks": "what a webhook was sent",
}


def keys_of(type_: Any) -> set[str]:
    """Return the keys of *type_* and of what is in it."""
    keys: set[str] = set()
    if is_typeddict(type_):
        hints = get_type_hints(type_)
        keys = {*hints}.union(*map(keys_of, hints.values()))
    return keys.union(*map(keys_of, get_args(type_)))


@pytest.mark.parametrize("name", sorted(operations()))
def test_an_answer_about_money_says_how_many_endpoints_told_it(name: str) -> None:
    (answer,) = get_args(get_type_hints(operations()[name])["return"])
    reasons = {name, name.partition(".")[0]} & set(NO_MONEY_OF_NODES)

    assert ("asked" in keys_of(answer)) is not bool(reasons)


def test_every_error_has_an_exit_code_and_a_status() -> None:
    classes = [
        each
        for each in vars(errors).values()
        if inspect.isclass(each) and issubclass(each, errors.ScenarioctlError)
    ]

    assert {each.code for each in classes} == set(OUTCOMES)


@pytest.mark.parametrize("words", sorted(commands()))
def test_every_option_has_help(words: str) -> None:
    command = commands()[words]
    silent = [
        parameter.name
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help and not parameter.hidden
    ]

    assert command.help
    assert silent == []
