"""Words of the HTTP interface for commands, which are shown nowhere, and the words by which people
look for a command."""

#: Word of the interface, without the program's name -> the command that it means.
ALIASES = {
    "broadcast": "tx send",
    "contract info": "chain contract",
    "create scenario": "create transfer",
    "info": "scenario info",
    "hrmp openchannels": "chain channels",
    "job mempool": "job drafts",
    "scenario full": "scenario build",
    "template stats": "chain stats",
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
    "price": ("quote",),
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

#: What other programs, and people, call an option -> those of ours; a command may have one of them.
OPTION_SYNONYMS = {
    "--account": ("--sender", "--signer"),
    "--address": ("--to-address", "--sender"),
    "--dest-address": ("--to-address",),
    "--dry-run": ("--check",),
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
    "--simulate": ("--check",),
    "--token": ("--asset",),
    "--value": ("--amount",),
}
