"""Generate scenarioctl/cli/operations.json from the operations, completions/ and man/ from the
commands, and docs/routes.md.

`python tools/generate.py` writes the files. `python tools/generate.py --check` compares them and
names stale ones.
"""

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
from click_man.core import generate_man_page

from scenarioctl import __version__
from scenarioctl.cli.about import SHELLS, completion_script
from scenarioctl.cli.commands import ALIASES
from scenarioctl.cli.main import cli
from scenarioctl.cli.options import GLOBAL_OPTIONS
from scenarioctl.config import SETTINGS
from scenarioctl.operations.results import LAST_RUN_FAILED, OUTCOMES
from scenarioctl.server.endpoints import ENDPOINTS
from tools.man_guides import man_guide, title_of
from tools.operation_table import operation_table
from tools.route_docs import routes_page

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scenarioctl" / "cli" / "operations.json"
#: Date in the footer of the man pages. It is the date of the release, so that a build doesn't
#: change them.
DATE = "2026-11-20"

#: The variables that are no setting. Each setting has one too.
ENVIRONMENT = {
    "SCENARIOCTL_CONFIG": "The configuration file, like --config.",
    "NO_COLOR": "1: no colors.",
    "SCENARIOCTL_DEBUG": "1: show the traceback of a bug.",
}

#: What each shell looks for.
FILES = {"bash": "scenarioctl", "zsh": "_scenarioctl", "fish": "scenarioctl.fish"}

#: What is no man page: a page of its own.
NO_GUIDES = {"routes.md"}
#: Guides that describe a file.
FILE_FORMATS = {"configuration.md": "scenarioctl-config", "flow.md": "scenarioctl-flow"}


def main() -> None:
    if "--check" not in sys.argv:
        # Before all others: the commands are made from it.
        TABLE.write_text(operation_table({each.operation for each in ENDPOINTS}))
    files = dict(generate())
    if "--check" in sys.argv:
        stale = [
            path for path, text in files.items() if not path.exists() or path.read_text() != text
        ]
        stale += [path for path in existing() if path not in files]
        for path in stale:
            print(f"stale: {path.relative_to(ROOT)} (run: python tools/generate.py)")
        sys.exit(1 if stale else 0)
    for path in existing():
        if path not in files:
            path.unlink()
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def existing() -> Iterator[Path]:
    yield from (ROOT / "completions").iterdir()
    yield from (path for path in (ROOT / "man").rglob("*") if path.is_file())


def generate() -> Iterator[tuple[Path, str]]:
    """Yield each generated file and its text."""
    yield TABLE, operation_table({each.operation for each in ENDPOINTS})
    for shell in SHELLS:
        yield ROOT / "completions" / FILES[shell], completion_script(shell)
    for context in list(walk()):
        name = context.command_path.replace(" ", "-")
        yield ROOT / "man" / "man1" / f"{name}.1", man_page(context)
    yield from man_guides()
    yield ROOT / "docs" / "routes.md", routes_page()


def walk() -> Iterator[click.Context]:
    """Yield a context for the program and for each command below it."""
    # click-man reads `.commands`, which the lazy group leaves empty.
    # Pass the context settings: click keeps the help option of a command's first context.
    root = click.Context(cli, info_name="scenarioctl", **cli.context_settings)
    cli.commands = {
        name: command
        for name in cli.list_commands(root)
        if (command := cli.get_command(root, name))
    }
    yield from _below(root)


def _below(context: click.Context) -> Iterator[click.Context]:
    # The whole sentence: click would cut it to fit its column.
    context.command.short_help = (
        cleandoc(context.command.help or "").split("\n\n")[0].replace("\n", " ")
    )
    yield context
    if isinstance(context.command, click.Group):
        for name, command in sorted(context.command.commands.items()):
            if command.hidden:
                continue
            yield from _below(click.Context(command, info_name=name, parent=context))


def man_page(context: click.Context) -> str:
    """Return the man page of one command: click-man's page plus the sections that it doesn't
    write."""
    command, params = context.command, context.command.params
    if context.parent is not None:
        command.params = [each for each in params if each not in GLOBAL_OPTIONS]
    rare = [each for each in params if isinstance(each, click.Option) and each.hidden and each.help]
    for each in rare:
        each.hidden = False
    if isinstance(command, click.Group):
        everything = command.commands
        command.commands = {name: each for name, each in everything.items() if not each.hidden}
    page = generate_man_page(context, version=f"scenarioctl {__version__}", date=DATE)
    command.params = params
    if isinstance(command, click.Group):
        command.commands = everything
    for each in rare:
        each.hidden = True
    page = page.replace("\b\n", "")
    # click-man's title and manual name are so long that they overlap at 80 columns.
    name = context.command_path.replace(" ", "-")
    title, rest = page.split("\n", 1)
    if not title.startswith(".TH "):
        raise SystemExit(f"click-man's page has changed: it begins with {title!r}")
    page = f'.TH "{name.upper()}" "1" "{DATE}" "scenarioctl {__version__}" " "\n{rest}'
    sections = [page.rstrip("\n")]
    if example := example_of(context.command):
        sections += [".SH EXAMPLE", ".nf", *(escape(line) for line in example.splitlines()), ".fi"]
    sections += [".SH EXIT STATUS"]
    for code, meaning in exit_codes().items():
        sections += [".TP", rf"\fB{code}\fP", meaning]
    if context.parent is None:
        sections += [".SH ENVIRONMENT"]
        variables = {each.variable: f"{each.help[0].upper()}{each.help[1:]}." for each in SETTINGS}
        for name, meaning in (ENVIRONMENT | variables).items():
            sections += [".TP", rf"\fB{name}\fP", escape(meaning)]
        sections += [
            ".SH WORDS OF THE HTTP INTERFACE",
            "They mean the command that stands behind them.",
        ]
        for old, new in ALIASES.items():
            sections += [".TP", rf"\fB{escape(old)}\fP", escape(new)]
        sections += [
            ".SH FILES",
            ".TP",
            r"\fB~/.config/scenarioctl/config.toml\fP",
            "Your settings and chains.",
        ]
        sections += [".TP", r"\fB~/.local/share/scenarioctl/scenarios.db\fP", "The scenario store."]
        pages = ", ".join(rf"\fB{escape(name)}\fP({section})" for _, name, section in guide_pages())
        sections += [".SH SEE ALSO", pages]
    else:
        sections += [
            ".SH GLOBAL OPTIONS",
            r"\fBscenarioctl\fP(1) describes the options of every command.",
        ]
        parent = context.parent.command_path.replace(" ", "-")
        sections += [".SH SEE ALSO", rf"\fB{escape(parent)}\fP(1)"]
    return "\n".join(sections) + "\n"


def man_guides() -> Iterator[tuple[Path, str]]:
    """Yield a man page for each guide: what describes a file in section 5, others in section 7."""
    pages = guide_pages()
    guides = {path.name: f"{name}({section})" for path, name, section in pages}
    for path, name, section in pages:
        page = man_guide(
            path.read_text(encoding="utf-8"),
            name=name,
            section=section,
            about=title_of(path),
            date=DATE,
            version=__version__,
            guides=guides,
        )
        if name == "scenarioctl-config":
            page += "\n".join(settings_section()) + "\n"
        yield ROOT / "man" / f"man{section}" / f"{name}.{section}", page


def guide_pages() -> list[tuple[Path, str, int]]:
    """Return each guide with the name and the section of its man page."""
    return [
        (
            path,
            FILE_FORMATS.get(path.name, f"scenarioctl-{path.stem}"),
            5 if path.name in FILE_FORMATS else 7,
        )
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path.name not in NO_GUIDES
    ]


def settings_section() -> Iterator[str]:
    """Yield the part of a man page that lists every setting."""
    yield ".SH SETTINGS"
    for setting in SETTINGS:
        yield from (".TP", rf"\fB{escape(f'{setting.name} = {setting.example}')}\fP")
        yield escape(f"{setting.help[0].upper()}{setting.help[1:]} ({setting.variable}).")


def example_of(command: click.Command) -> str:
    """Return the example in a command's epilog."""
    _, found, example = (command.epilog or "").partition("Example:\n")
    return cleandoc(example) if found else ""


def exit_codes() -> dict[int, str]:
    meanings = {0: "The answer is on stdout.", 1: "A bug in scenarioctl."}
    meanings |= {
        2: "Bad input.",
        3: "Not found.",
        4: "Conflict.",
        5: "A chain, a daemon or a web server could not be reached, or a check is inconclusive.",
        6: "The chain refused.",
        LAST_RUN_FAILED: "The job's last run failed (job status), or --strict met a warning.",
    }
    if {LAST_RUN_FAILED, *(outcome.exit for outcome in OUTCOMES.values())} != set(meanings) - {0}:
        raise SystemExit("the exit codes here and in operations/results.py differ")
    return meanings


def escape(text: str) -> str:
    """Return *text* escaped for troff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


if __name__ == "__main__":
    main()
