"""A field of a request is declared once: help, completion, `/openapi.json` and the page of the
interface are made from it."""

from dataclasses import dataclass
from typing import Annotated, Any

import click
import pytest
from click.shell_completion import CompletionItem

from scenarioctl.cli.commands import Command
from scenarioctl.cli.options import request_parameters
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.request_fields import ChainName, Count, Value, field_rows
from scenarioctl.server.decoding import request_schema


@dataclass(frozen=True, kw_only=True)
class Aimed:
    """Fields of several requests."""

    #: Where to aim; `speed` says how fast.
    chain: ChainName
    #: How fast it goes.
    speed: Annotated[str, Value("PACE", ("slow", "fast"))] = "slow"


@dataclass(frozen=True, kw_only=True)
class Throw(Aimed):
    """Throw something."""

    #: What is thrown.
    thing: str
    #: Which ones else.
    others: tuple[str, ...] = ()
    #: How often, up to 9.
    times: Annotated[Count, Value("N", least=1, most=9)] = 1
    #: Ask `thing` whether it likes that.
    politely: Annotated[bool | None, Value(off="--rudely")] = None
    #: Colors of it.
    color: Annotated[tuple[str, ...], Value(repeats=True)] = ()
    #: From how far, in whole meters or with a point.
    distance: Annotated[str | float, Value("METERS", spellings=("--far",))] = ""


def command() -> click.Command:
    own = [click.Option(["--echo"], is_flag=True, help="Say it too.")]
    rows = field_rows(Throw)
    params = request_parameters(rows, arguments=("thing", "others"), without=(), own=own)

    def answer(**fields: Any) -> dict[str, Any]:
        return fields

    return Command("throw", params=params, callback=answer)


def run(*line: str) -> Any:
    return command().main(list(line), standalone_mode=False, obj={})


def test_its_command_has_them() -> None:
    assert run(
        "ball", "stick", "--chain", "polkadot", "--far", "3", "--rudely", "--color", "red"
    ) == {
        "thing": "ball",
        "others": ("stick",),
        "chain": "polkadot",
        "speed": "slow",
        "times": 1,
        "politely": False,
        "color": ["red"],
        "distance": "3",
        "echo": False,
    }
    assert run("ball", "--chain", "kusama")["politely"] is None
    with pytest.raises(InvalidRequest):
        run("ball")


def test_its_help_has_them() -> None:
    context = click.Context(command(), info_name="throw")

    shown = command().get_help(context).splitlines()

    assert shown[: shown.index("  --echo                    Say it too.")] == [
        "Usage: throw [OPTIONS] THING [OTHERS]...",
        "",
        "Options:",
        "  -c, --chain CHAIN         Where to aim; --speed says how fast.  [required]",
        "  --times N                 How often, up to 9.",
        "  --politely / --rudely     Ask THING whether it likes that.",
        "  --color COLOR             Colors of it.",
        "  --distance METERS         From how far, in whole meters or with a point.",
        "  --speed PACE              How fast it goes.",
    ]


def test_a_shell_completes_them() -> None:
    context = click.Context(command())
    by_name = {each.name: each for each in command().params}

    def offered(name: str, incomplete: str) -> list[str]:
        found: list[CompletionItem] = by_name[name].shell_complete(context, incomplete)
        return [each.value for each in found]

    assert offered("speed", "f") == ["fast"]
    assert offered("chain", "kus") == ["kusama"]


def test_the_interface_has_them() -> None:
    schema = request_schema(Throw)

    assert schema["required"] == ["chain", "thing"]
    assert schema["properties"]["chain"] == {
        "type": "string",
        "description": "Where to aim; `speed` says how fast.",
    }
    assert schema["properties"]["speed"] == {
        "type": ["string", "null"],
        "default": "slow",
        "description": "How fast it goes.",
        "enum": ["slow", "fast", None],
    }
    assert schema["properties"]["times"] == {
        "type": ["integer", "string", "null"],
        "default": 1,
        "description": "How often, up to 9.",
        "minimum": 1,
        "maximum": 9,
    }
