"""Options and arguments of commands, and what the shell completes for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

from scenarioctl.errors import InvalidRequest, shorten

F = TypeVar("F", bound=Callable[..., Any])


class OneOption(click.Option):
    """An option with several spellings that means one thing: two different values are refused.

    Where money moves, the last of two contradicting words must not win in silence.
    """

    def __init__(self, names: Sequence[str], **attributes: Any) -> None:
        self.fallback = attributes.pop("default", None)
        self.is_needed = attributes.pop("required", False)
        #: Values that the shell offers; the operation judges what is given.
        self.choices: tuple[str, ...] = attributes.pop("choices", ())
        if self.choices:
            attributes["shell_complete"] = _completing(lambda: self.choices)
        super().__init__(names, **{**attributes, "multiple": True})
        if self.is_needed and self.help:
            self.help += "  [required]"

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        values = super().process_value(ctx, value)
        if not values:
            if self.is_needed and not ctx.resilient_parsing:
                raise InvalidRequest(field=self.name, problem="is missing", expected=f"{'/'.join(self.opts)}")
            return self.fallback
        if any(other != values[0] for other in values):
            raise InvalidRequest(
                field=self.name,
                problem=f"is given twice, as {shorten(values[0])} and as {shorten(next(other for other in values if other != values[0]))}: pass it once",
            )
        return values[0]


Complete = Callable[[click.Context, click.Parameter, str], list[Any]]


def complete_files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG001
    """Let the shell complete the names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _completing(find: Callable[[], Iterable[str]]) -> Complete:
    """Return what completes a value to those that *find* returns, which the shell has to ask for."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[Any]:
        return [each for each in find() if each.lower().startswith(incomplete.lower())]

    return complete


def _finding(name: str) -> Complete:
    """Return what completes a value by the function *name* of `cli/completions.py`, which nothing else loads."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from scenarioctl.cli import completions

        return completions.offered(getattr(completions, name))(context, parameter, incomplete)

    return complete


def _settings() -> list[str]:
    from scenarioctl.config import SETTINGS

    return [each.name for each in SETTINGS]


#: What a target of notifications begins with.
complete_targets = _completing(lambda: ("https://", "slack+https://", "mattermost+https://", "ntfy+https://"))
complete_settings = _completing(_settings)
complete_jobs = _finding("job_ids")
complete_calls = _finding("calls")
complete_call_pallets = _finding("call_pallets")


def complete_scopes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a list of scopes, with commas between."""
    from scenarioctl.server.access import SCOPES

    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return [f"{before}{comma}{each}" for each in SCOPES if each.startswith(last) and each not in given]


#: Metavar -> what completes it.
COMPLETIONS: Mapping[str, Complete] = {
    **dict.fromkeys(("FILE", "PATH|-|STRING", "FILE|-", "FILE.png"), complete_files),
    **dict.fromkeys(("CHAIN", "[CHAIN]", "CHAIN...", "[CHAIN]..."), _finding("chains")),
    **dict.fromkeys(("ID", "ID...", "[HEX|-|SCENARIO]"), _finding("scenario_ids")),
    "RELAY": _finding("relays"),
    "ASSET": _finding("assets"),
    "PALLET": _finding("pallets"),
    "[PALLET[.ITEM]]": _finding("items"),
    "METHOD": _finding("readable_methods"),
    "ZONE": _finding("time_zones"),
    "PATH": _finding("fields"),
}


def argument(name: str, *, metavar: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click argument; its metavar tells what completes it."""
    attributes.setdefault("shell_complete", COMPLETIONS.get(metavar))
    return click.argument(name, metavar=metavar, **attributes)


def option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return a click option of which two different values are refused; `choices` or its metavar tell what completes it."""
    complete = COMPLETIONS.get(attributes.get("metavar", ""))
    if complete is not None:
        attributes.setdefault("shell_complete", complete)
    return click.option(*names, cls=OneOption, **attributes)


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds several options in this order."""

    def add(function: F) -> F:
        for each in reversed(options):
            function = each(function)
        return function

    return add


#: Accepted before and after the command, with one meaning.
GLOBAL_OPTIONS = (
    click.Option(
        ["--json"], is_flag=True, default=None, help="Print the JSON that the HTTP endpoint answers."
    ),
    OneOption(
        ["--field"],
        metavar="PATH",
        shell_complete=COMPLETIONS["PATH"],
        help="Print only this field of the answer, like id or scenarios.0.id; * is each.",
    ),
    OneOption(
        ["--output", "-o", "output_file"],
        metavar="FILE",
        shell_complete=complete_files,
        help="Write the answer to FILE, whole or not at all, instead of stdout.",
    ),
    click.Option(
        ["--quiet", "-q"], is_flag=True, default=None, help="Print no notes, only warnings and errors."
    ),
    click.Option(
        ["--verbose", "-v"], is_flag=True, default=None, help="Say which store, daemon and nodes are asked."
    ),
    click.Option(
        ["--strict"],
        is_flag=True,
        default=None,
        help="Treat warnings as errors, with exit code 7.",
    ),
    click.Option(
        ["--offline/--no-offline"],
        default=None,
        help="Never connect to a node; use local runtime tables.",
    ),
    click.Option(
        ["--config"],
        metavar="FILE",
        shell_complete=complete_files,
        help="Read the settings from FILE instead of config.toml.",
    ),
    click.Option(
        ["--store"], metavar="FILE", shell_complete=complete_files, help="Use FILE as the scenario store."
    ),
    click.Option(
        ["--url"],
        metavar="URL",
        help="Send the command to the daemon at URL: http://…, https://…, unix:///…",
    ),
)


#: Each field of a transfer with every spelling that is accepted for it.
_SPELLINGS = {
    "source": ("--source-chain", "--sourchain", "--from"),
    "destination": ("--dest-chain", "--destchain", "--deschain", "--to"),
    "address": ("--destination-address", "--destinationaddress"),
}

TOKENS = (
    "TOKENS",
    "Whole tokens, like 1.5 or '1.5 DOT'; 15000000000raw is in the smallest unit. max is all that --sender can send now: the scenario keeps this number, and each run of a job drafts it again.",
)
RAW = (
    "RAW",
    "Amount in the smallest unit (raw): 10000000000 is 1 DOT. max is all that --sender can send now.",
)


def transfer_options(
    source: str, destination: str, address: str, *, amount: tuple[str, str], needed: bool = True
) -> Callable[[F], F]:
    """Add the fields of a transfer, called as the operation calls them; their own spelling stands first.

    *amount* is the metavar and the help of the amount; with *needed* false, all may be left out.
    """
    presence: dict[str, Any] = {"required": True} if needed else {"default": ""}
    unit, explained = amount
    return together(
        _option("source", source, metavar="CHAIN", help="Chain it leaves.", **presence),
        _option("destination", destination, metavar="CHAIN", help="Chain it reaches.", **presence),
        option(
            "--assetid",
            "--asset",
            "assetid",
            metavar="ASSET",
            help="Id, symbol or location on the source chain, like 1/Here.",
            **presence,
        ),
        option("--amount", metavar=unit, help=explained, **presence),
        click.option(
            "--allow-death/--keep-alive",
            default=None,
            help="Let the transfer close the sender's account, or keep it alive (default). Only within a chain, or with --amount max.",
        ),
        _option(
            "address",
            address,
            metavar="ADDRESS",
            help="Receiver on the destination chain: SS58 of any prefix or 0x public key; on Mythos and Ethereum 0x and 40 hex digits.",
            **presence,
        ),
    )


#: Confirms a receiver that `transactions/keyless_accounts.py` refuses.
yes_option = click.option(
    "--yes",
    is_flag=True,
    help="Confirm a receiver without a private key, like the account of a pallet.",
)
#: Accepts what `transactions/simulation/recipients.py` refuses.
accept_locked_option = click.option(
    "--accept-locked",
    is_flag=True,
    help="Accept that what arrives can't all be spent at first, because a deposit limit locks it.",
)
accept_loss_option = click.option(
    "--accept-loss",
    is_flag=True,
    help="Build it also if so little arrives that it is lost. Not with --check, which judges what arrives.",
)
xcm_version_option = option(
    "--xcm-version",
    metavar="3|4|5",
    choices=("3", "4", "5"),
    help="Version of XCM to write: 3, 4 or 5; the highest that both runtimes know if left out.",
)
relayer_fee_option = option(
    "--relayer-fee",
    metavar="ETH",
    default="",
    help="To Ethereum: send so much Ether of --sender along for a relayer, like 0.0003. The message then goes by Snowbridge's second protocol (V2).",
)

remote_fee_asset_option = option(
    "--remote-fee-asset",
    metavar="ASSET",
    default="",
    help="Asset of the source chain that goes along and pays for execution on the destination: its id, symbol or location. The chain is asked how much; what is left is the receiver's.",
)


#: The page of a list.
page_options = together(
    option("--limit", metavar="N", default=50, help="At most this many (default 50, at most 1000)."),
    option(
        "--after", metavar="CURSOR", default="", help="Continue after the page that returned this cursor."
    ),
)

#: When a job runs, and what becomes of a run.
schedule_options = together(
    option(
        "--every",
        metavar="DURATION",
        default="",
        help="Time between two runs, like 90s, 10m or 12h (12h in a new schedule).",
    ),
    option(
        "--cron",
        metavar="LINE",
        default="",
        help="Instead of --every: minute, hour, day of month, month and day of week, like '*/5 9-17 * * mon-fri'.",
    ),
    option(
        "--timezone",
        metavar="ZONE",
        default="",
        help="Time zone of --cron, like Europe/Berlin (UTC in a new schedule).",
    ),
    option("--jitter", metavar="DURATION", default="", help="Delay each run by a random time up to this."),
    option(
        "--overlap",
        metavar="POLICY",
        choices=("skip", "queue"),
        default="",
        help="If a run is still in progress when the next is due: skip it, as a new schedule does, or queue one.",
    ),
    option(
        "--catchup",
        metavar="DURATION",
        default="",
        help="After downtime, skip runs that are later than this (1m in a new schedule).",
    ),
    option(
        "--pause-after",
        metavar="N",
        default="",
        help="Pause after this many failed runs in a row (0, in a new schedule: never).",
    ),
    option(
        "--timeout",
        metavar="DURATION",
        default="",
        help="End a run that takes longer (0, in a new schedule: the setting run_seconds, 1h).",
    ),
    click.option(
        "--notify",
        metavar="[FORMAT+]URL",
        shell_complete=complete_targets,
        multiple=True,
        callback=lambda _context, _parameter, value: list(value) or "",
        help="Also send notifications of this job to URL: as JSON, or in a format like slack+URL or ntfy+URL; may be repeated. none removes those of the job.",
    ),
)

#: What is sold, what for, how much and by which way.
swap_options = together(
    option(
        "--assetin",
        "--asset-in",
        "assetin",
        metavar="ASSET",
        required=True,
        help="Id, symbol or location of the asset sold.",
    ),
    option(
        "--assetout",
        "--asset-out",
        "assetout",
        metavar="ASSET",
        required=True,
        help="Id, symbol or location of the asset received.",
    ),
    option(
        "--amount",
        metavar="TOKENS",
        required=True,
        help="Whole tokens sold, like 1.5 or '1.5 DOT'; 15000000000raw is in the smallest unit.",
    ),
    option("--slippage", metavar="PERCENT", help="How far below the quote the minimum lies (default 1)."),
    option(
        "--route",
        metavar="HOPS",
        help="Pools to go through: 5>omnipool>102>stableswap:102>10, or a JSON list.",
    ),
    option("--chain", metavar="CHAIN", default="hydraDx", help="The exchange parachain (default hydraDx)."),
)


#: What pays the fee: a field of a signature, and of a check.
fee_asset_option = option(
    "--fee-asset",
    metavar="ASSET",
    default="",
    help="Pay the fee in this asset: its id, symbol or location. On an Asset Hub; on Hydration it is set for the account, by tx payload and tx check of a transaction.",
)

#: What a signature covers: the fields of `operations/signing_fields.py: Signer`, in its order.
signer_options = together(
    option("--sender", metavar="ADDRESS", default="", help="Account that will sign: SS58 or 0x public key."),
    option(
        "--nonce",
        metavar="N",
        help="The sender's nonce. Read from the chain; required with --offline.",
    ),
    option(
        "--era",
        metavar="ERA",
        choices=("immortal",),
        default="",
        help="immortal, a period in blocks, or the era's 0x hex. Default: 64; with --offline immortal, or 64 with --block and --block-hash.",
    ),
    option(
        "--block",
        metavar="N",
        help="Number of the block that a mortal era starts from. Default: the finalized block.",
    ),
    option(
        "--block-hash",
        metavar="0xHASH",
        default="",
        help="Hash of that block. Read from the chain; required with --offline and a mortal era.",
    ),
    option("--tip", metavar="RAW", default=0, help="Tip in the native asset's smallest unit."),
    fee_asset_option,
    option(
        "--metadata-hash",
        metavar="auto|off|0xHASH",
        choices=("auto", "off"),
        default="",
        help="Commit the signature to the runtime's metadata (CheckMetadataHash); auto computes its hash. "
        "Default: auto if the connected chain supports it; with --offline off.",
    ),
    option("--genesis", metavar="0xHASH", default="", help="Override the chain's genesis hash."),
)

#: The form of the output, and what a payload needs.
transaction_options = together(
    option(
        "--output-format",
        metavar="FORM",
        choices=("extrinsic", "call", "payload"),
        default="extrinsic",
        help="extrinsic (default, bare, read by wallets), call (only the call data) or payload (what the sender signs).",
    ),
    signer_options,
)


def _option(kind: str, field: str, **attributes: Any) -> Callable[[F], F]:
    own = "--" + field.replace("_", "-")
    return option(own, *(each for each in _SPELLINGS[kind] if each != own), field, **attributes)
