"""What was removed, and what to do instead.  For each thing that is removed, add its rows here."""

from collections.abc import Mapping

_FACTS = "The facts about chains come with each release: upgrade scenarioctl for newer ones"
_BOUNDS = (
    "Drafts have no bounds: bound what is signed, with `max` and `max_per_day` in the policy of "
    "examples/signer"
)
_CALLS = "Build the call with `tx call` (POST /api/tx/call); docs/recipes.md shows how"
_ETHEREUM = "Use app.snowbridge.network for transfers to and from Ethereum"
_QUOTE = "`tx check` (POST /api/tx/check) says what a transfer costs and what arrives"
_TEST = "`doctor --notify` sends a test notification to all targets of the setting notify"
_TRAPPED = (
    "`tx status` tells the block in which a transaction left assets behind; `tx claim` claims them"
)
_COMPLETIONS = (
    "Write what `completion show SHELL` prints into a file that the shell reads; docs/install.md "
    "shows where"
)
_SCHEDULE = "`job start` (POST /job/start) changes the schedule of a running job"
_LABELS = "`scenario edit ID --name NAME --tag TAG` (POST /api/scenario/replace) does it"
_STDOUT = "Redirect stdout: scenarioctl … > FILE"
_CODES = "Write the codes to files with --qr-file FILE.png; the daemon's page shows them, too"
_COPY = (
    "Write its flow with `scenario export --as flow`, and create it again with `create`; the page "
    "does both with Duplicate"
)
_PICTURES = "Write the picture to a file with -o FILE.svg or -o FILE.png"

#: The words of a command, of a command and its option, or of an option of all commands -> a
#: sentence; it holds for all commands below it, too.
COMMANDS: Mapping[str, str] = {
    "completion install": _COMPLETIONS,
    "config path": "`config show --field config` prints the path",
    "chain check": "`doctor` asks each chain, and `chain refresh CHAIN` fetches its runtime table",
    "create payout --reread": "Create a payout of the file for each month",
    "create payout --replace": "Create another payout, of the lines that are left to pay",
    "dca": _CALLS,
    "job reschedule": _SCHEDULE,
    "job start --max-amount": _BOUNDS,
    "job start --max-per-day": _BOUNDS,
    "flow": "`scenario preview FILE` draws a flow file",
    "notify": _TEST,
    "query --watch": "Use `watch scenarioctl query …` to ask again and again",
    "registry": _FACTS,
    "scenario preview --draw": _PICTURES,
    "scenario copy": _COPY,
    "scenario rename": _LABELS,
    "scenario tag": _LABELS,
    "staking": _CALLS,
    "store migrate": "A store keeps its schema version: create a new one with store init",
    "tx list --search": "Filter by --account, --chain, --state and --since, or search its --csv",
    "tx payload --qr": _CODES,
    "version": "Use `scenarioctl --version`",
    "xcm claim": "Use `tx claim`",
    "xcm quote": _QUOTE,
    "xcm trapped": _TRAPPED,
    "--output": _STDOUT,
    "--relayer-fee": _ETHEREUM,
    "-o": _STDOUT,
}

#: A path -> a sentence; it holds for all paths below it, too.
PATHS: Mapping[str, str] = {
    "/docs": "GET /openapi.json describes all paths, with examples; docs/routes.md lists them",
    "/api/dca": _CALLS,
    "/api/registry": _FACTS,
    "/api/notify": _TEST,
    "/api/scenario/duplicate": _COPY,
    "/api/scenario/rename": _LABELS,
    "/api/scenario/tag": _LABELS,
    "/api/staking": _CALLS,
    "/api/status/events": "Ask GET /api/status again and again",
    "/api/xcm/quote": _QUOTE,
    "/api/xcm/trapped": _TRAPPED,
    "/job/reschedule": _SCHEDULE,
}


def removed_command(words: str, option: str = "") -> str:
    """Return what to do instead of the command *words*, or of its *option*; empty if there was
    none."""
    return COMMANDS.get(f"{words} {option}".strip(), COMMANDS.get(option, ""))


def removed_path(path: str) -> str:
    """Return what to do instead of a request to *path*; empty if it was never there."""
    while path:
        if path in PATHS:
            return PATHS[path]
        path = path.rpartition("/")[0]
    return ""
