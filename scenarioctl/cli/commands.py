"""The classes of commands and groups, which take the global options before and after the command;
words of the HTTP interface for commands, and those by which people look for one."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click

from scenarioctl.cli.options import (
    GLOBAL_OPTIONS,
    SpelledOption,
    describe,
    is_needed,
    read_operation,
    request_parameters,
    spell,
    spell_fields,
)
from scenarioctl.errors import InvalidRequest, ScenarioctlError, closest, either, question, shorten
from scenarioctl.removed import removed_command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


#: Word of the interface, without the program's name -> the command that it means.
ALIASES = {
    "address list": "address show",
    "broadcast": "tx send",
    "contract info": "chain contract",
    "create scenario": "create transfer",
    "info": "scenario info",
    "hrmp openchannels": "chain channels",
    "job mempool": "job drafts",
    "job watch": "job list --watch",
    "multisig cancel": "multisig approve --cancel",
    "multisig execute": "multisig approve --execute",
    "quote": "create swap --quote",
    "scenario full": "scenario build",
    "scenario payments": "scenario show --payments",
    "store check": "status --store-only",
    "template stats": "chain stats",
    "webhook list": "webhook",
    "webhook post": "webhook",
}

#: What other programs, and people, call a command -> the line of ours, or
#: its last word.
SYNONYMS = {
    **dict.fromkeys(
        ("cost", "dry-run", "dryrun", "estimate", "fee", "fees", "simulate", "validate", "verify"),
        ("tx check",),
    ),
    **dict.fromkeys(("encode", "nominate", "stake", "vote"), ("tx call",)),
    "accounts": ("balance",),
    "convert": ("address show",),
    "events": ("tx status",),
    "history": ("tx list",),
    "pay": ("create transfer", "create payout"),
    "payroll": ("create payout",),
    "price": ("create swap",),
    "proxy": ("address add", "tx call"),
    "rebalance": ("create flow",),
    "rpc": ("query",),
    "ss58": ("address show",),
    "bridge": ("transfer",),
    "cat": ("show",),
    "contract": ("contract",),
    "get": ("show",),
    "hrmp": ("channels",),
    "ls": ("list",),
    "new": ("transfer", "swap"),
    "remove": ("delete",),
    "rm": ("delete", "remove"),
    "schedule": ("start",),
    "sell": ("swap",),
    "serve": ("daemon",),
    "server": ("daemon",),
    "sign": ("payload", "assemble"),
    "submit": ("send",),
    "swap": ("swap",),
    "tail": ("logs",),
    "teleport": ("transfer",),
    "template": ("stats",),
}

#: What other programs, and people, call an option -> those of ours, of which a command may have
#: one, or a command beside it.
OPTION_SYNONYMS = {
    "--account": ("--sender", "--signer"),
    "--address": ("--to-address", "--sender"),
    "--dest-address": ("--to-address",),
    "--check": ("tx check",),
    "--dry-run": ("--check", "tx check"),
    "--fee": ("--fee-asset",),
    "--host": ("--listen",),
    "--interval": ("--every",),
    "--message": ("--text",),
    "--network": ("--chain", "--from"),
    "--origin": ("--sender",),
    "--port": ("--listen",),
    "--receiver": ("--to-address",),
    "--recipient": ("--to-address",),
    "--schedule": ("--cron",),
    "--simulate": ("--check", "tx check"),
    "--token": ("--asset",),
    "--value": ("--amount",),
}


def wants_json(arguments: Sequence[str], flags: Mapping[str, Any]) -> bool:
    """Tell whether JSON is wanted, even where the line could not be parsed or the settings not be
    read."""
    if "--json" in arguments or flags.get("json"):
        return True
    return os.environ.get("SCENARIOCTL_JSON", "").strip().lower() in {"1", "true", "yes", "on"}


def take_global_options(context: click.Context) -> None:
    """Keep the global flags given to *context*'s command; one after the command wins over one
    before it."""
    kept = context.find_root().ensure_object(dict)
    for each in GLOBAL_OPTIONS:
        value = context.params.pop(str(each.name), None)
        if value is not None:
            kept[each.name] = value


def global_options(own: Sequence[click.Parameter]) -> list[click.Option]:
    """Return the global options of a command that has *own* parameters, which keep their
    spellings."""
    taken = {spelling for each in own for spelling in each.opts}
    return [each for each in GLOBAL_OPTIONS if taken.isdisjoint(each.opts)]


def _log_to_stderr() -> None:
    """Show what the program does; `daemon` replaces this by its own log."""
    import logging

    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("scenarioctl").setLevel(logging.DEBUG)


def _write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command's own; the global ones are only named, but in the help of the
    program."""
    shown = [each for each in command.get_params(ctx) if isinstance(each, click.Option)]
    if ctx.parent is not None:
        shown = [each for each in shown if each not in GLOBAL_OPTIONS]
    shown.sort(key=lambda each: not is_needed(each))
    records = [record for each in shown if (record := each.get_help_record(ctx)) is not None]
    with formatter.section("Options"):
        formatter.write_dl(records)
    rare = [
        each.opts[0]
        for each in command.get_params(ctx)
        if isinstance(each, click.Option) and each.hidden
    ]
    if rare:
        formatter.write_paragraph()
        formatter.write_text(f"Rarely needed, see the man page: {', '.join(rare)}.")
    if ctx.parent is not None:
        formatter.write_paragraph()
        formatter.write_text(f"Global options: see {ctx.find_root().command_path} --help.")


class _OfOperation(click.Command):
    """A command that takes the fields of an operation's request, and the global options.

    *arguments* are the fields that are arguments, in their order, and *without* those that the
    command fills in itself. Any other one is an option. A parameter of the command's own replaces
    that of the field with its name. Without a help text of its own, it has that of the request.
    Options that few need are hidden. `--chain`
    stands for a chain that is an argument, and `Pallet.name` for two of them.
    """

    def __init__(
        self,
        *args: Any,
        operation: str = "",
        arguments: Sequence[str] = (),
        without: Sequence[str] = (),
        example: str = "",
        others: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        #: `module.handler` under scenarioctl.operations; empty for what works on this machine
        #: alone.
        self.operation = operation
        self._arguments, self._without, self._is_complete = arguments, ("strict", *without), False
        #: Operations that one of its options runs instead.
        self.others = others
        self._params: list[click.Parameter] = []
        if operation:
            row = read_operation(operation)
            kwargs["help"] = kwargs.get("help") or describe(
                row["about"], spell(row["fields"], arguments)
            )
            if "columns" in row:
                kwargs["help"] = f"{cleandoc(kwargs['help'])}\n\nColumns: {row['columns']}."
        super().__init__(*args, **kwargs)
        if example:
            self.epilog = f"\b\nExample:\n  {example}"

    @property
    def params(self) -> list[click.Parameter]:
        """The parameters; those of the request are made when the first of them is needed."""
        if not self._is_complete:
            self._is_complete = True
            if self.operation:
                self._params = request_parameters(
                    read_operation(self.operation)["fields"],
                    arguments=self._arguments,
                    without=self._without,
                    own=self._params,
                )
            self._params = [*self._params, *global_options(self._params)]
        return self._params

    @params.setter
    def params(self, own: list[click.Parameter]) -> None:
        self._params = own

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer what the help shows; a spelling of the HTTP interface only where nothing else
        begins so."""
        offered = super().shell_complete(ctx, incomplete)
        unseen = {name for each in self.params for name in getattr(each, "unseen", ())}
        return [each for each in offered if each.value not in unseen] or offered

    @property
    def answer_paths(self) -> list[str]:
        """The paths into the answer, as `--field` takes them."""
        return read_operation(self.operation)["paths"].split() if self.operation else []


#: The fields of a pallet, of a name in it, and of what follows.
_NAMES = (("pallet", "method", "args"), ("pallet_name", "method_name", "params"))


class Command(_OfOperation):
    """A command that takes the global options too, and names the operation it is an edge of."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # For an error, which may be one of the line.
        flags = ctx.find_root().ensure_object(dict)
        flags["operation"] = self.operation
        with self._naming_options(as_json=wants_json(args, flags)):
            rest = super().parse_args(ctx, self._placed_chain(args))
        if not ctx.resilient_parsing:
            self._split_name(ctx)
        return rest

    def _placed_chain(self, args: list[str]) -> list[str]:
        """Return *args* with the value of `--chain` where the command takes it as an argument."""
        is_first = self._arguments[:1] == ("chain",)
        if is_first or self._arguments[-1:] == ("chains",):
            for place, word in enumerate(args[: args.index("--")] if "--" in args else args):
                name, equals, value = word.partition("=")
                if name in ("--chain", "-c"):
                    chain = [value] if equals else args[place + 1 : place + 2]
                    rest = [*args[:place], *args[place + (1 if equals else 2) :]]
                    return [*chain, *rest] if is_first else [*rest, *chain]
        return args

    def _split_name(self, ctx: click.Context) -> None:
        """Read `Pallet.name` as two arguments."""
        given = ctx.params
        for pallet, method, rest in _NAMES:
            if pallet not in given or method not in given:
                continue
            first, dot, second = given[pallet].partition(".")
            if dot:
                more = () if given[method] is None else (given[method],)
                given |= {pallet: first, method: second, rest: (*more, *given[rest])}
            elif given[method] is None:
                param = next(each for each in self.params if each.name == method)
                raise click.MissingParameter(ctx=ctx, param=param)

    def invoke(self, ctx: click.Context) -> Any:
        take_global_options(ctx)
        if not self.operation and ctx.find_root().ensure_object(dict).get("url"):
            raise InvalidRequest(
                field="--url",
                problem=(
                    f"cannot be combined with {ctx.command_path.partition(' ')[2]}, which acts "
                    "on this machine: omit --url"
                ),
            )
        flags = ctx.find_root().obj
        if flags.get("verbose"):
            _log_to_stderr()
        with self._naming_options(as_json=wants_json((), flags)):
            return super().invoke(ctx)

    @contextmanager
    def _naming_options(self, *, as_json: bool) -> Iterator[None]:
        """Let errors name their field as the option that a person types for it; JSON keeps the
        interface's name."""
        try:
            yield
        except ScenarioctlError as failed:
            if as_json:
                raise
            error = failed.spelled(spell_fields)
            for each in self.params:
                if isinstance(each, SpelledOption) and each.name == error.field:
                    option = each.shown[0]
                    if error.expected == option:
                        raise InvalidRequest(field=option, problem="is missing") from None
                    is_missing = error.statement.startswith(f"{error.field} is missing")
                    is_spelled = option == f"--{error.field.replace('_', '-')}"
                    if option not in str(error) and (is_missing or not is_spelled):
                        raise error.named(option) from None
            raise error from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_options(self, ctx, formatter)


class Group(_OfOperation, click.Group):
    """A group of commands; the group and each command take the global options."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # It runs alone too, to print its help; its usage line says what it is for.
        kwargs.setdefault("subcommand_metavar", "COMMAND [ARGS]...")
        kwargs["invoke_without_command"] = True
        super().__init__(*args, **kwargs)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        take_global_options(ctx)
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            self.invoke_alone(ctx)
        return result

    def invoke_alone(self, ctx: click.Context) -> None:
        """Answer a line that ends with the group: print its help, or say in JSON that a command is
        missing."""
        if wants_json((), ctx.find_root().ensure_object(dict)):
            raise click.UsageError(
                f"a command is missing, expected one of: {', '.join(self.shown(ctx))}", ctx
            )
        click.echo(ctx.get_help())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if ctx.parent is None:
            for count in (2, 1):
                alias = ALIASES.get(" ".join(args[:count]))
                if alias is not None and (count == 2 or args[0] not in self.list_commands(ctx)):
                    args = [*alias.split(), *args[count:]]
                    break
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            words = " ".join((*ctx.command_path.split()[1:], args[0]))
            raise click.UsageError(
                removed_command(words)
                or f"there is no command {shorten(args[0])}, {self._suggest(ctx, args[0])}",
                ctx,
            )
        return super().resolve_command(ctx, args)

    def shown(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands that the help shows."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [name for name, command in found if command is not None and not command.hidden]

    def _suggest(self, ctx: click.Context, word: str) -> str:
        """Return the commands that *word* may mean: of this group, else of any."""
        names, known, root = (
            SYNONYMS.get(word.lower(), (word.lower(),)),
            self.shown(ctx),
            ctx.find_root(),
        )
        # Each line, and the word by which it is looked for.
        lines = [(line, line.rpartition(" ")[2]) for line in leaves(root)]
        lines += [(new, old.rpartition(" ")[2]) for old, new in ALIASES.items()]

        def ending(words: Sequence[str]) -> list[str]:
            found = (line for line, end in lines if end in words or line in words)
            return list(dict.fromkeys(f"{root.command_path} {line}" for line in found))

        here = [each for each in names if each in known] if ctx is not root else ending(names)
        here = here or ending(names) or closest(word, known, cutoff=_NEAR)
        here = here or ending(closest(word, {end for _, end in lines}, cutoff=_NEAR))
        return question(either(here[:_MOST]), known)


#: How like a word another must be to be meant: a distant guess is worse than none.
_NEAR = 0.76
#: As many commands are named that a word may mean.
_MOST = 4


def leaves(root: click.Context) -> Iterator[str]:
    """Yield the words of each command that the help shows."""

    def below(context: click.Context, words: str) -> Iterator[str]:
        group = context.command
        if not isinstance(group, Group):
            yield words
            return
        for name in group.shown(context):
            command = group.get_command(context, name)
            if command is not None:
                yield from below(
                    click.Context(command, info_name=name, parent=context),
                    f"{words} {name}".strip(),
                )

    yield from below(root, "")
