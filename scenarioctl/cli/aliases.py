"""Spellings of commands that still work and are shown nowhere, and the words by which people look
for a command."""

#: Old spelling of a command, without the program's name -> what it means now.
ALIASES = {
    "account": "address",
    "batch": "tx batch",
    "broadcast": "tx send",
    "call": "tx call",
    "create scenario": "create transfer",
    "info": "scenario info",
    "job mempool": "job drafts",
    "job runs": "job logs --runs",
    "scenario batch": "scenario build --batch",
    "scenario duplicate": "scenario copy",
    "scenario flow": "scenario export --as flow",
    "tx broadcast": "tx send",
    "tx history": "tx list",
}

#: What other programs, and people, call a command -> the last word of ours.
SYNONYMS = {
    "accounts": ("balance",),
    "bridge": ("transfer",),
    "cat": ("show",),
    "get": ("show",),
    "ls": ("list",),
    "new": ("transfer", "swap"),
    "remove": ("delete",),
    "rm": ("delete", "remove"),
    "schedule": ("start", "reschedule"),
    "sell": ("swap",),
    "serve": ("daemon",),
    "server": ("daemon",),
    "sign": ("payload", "assemble"),
    "submit": ("send",),
    "swap": ("swap",),
    "tail": ("logs",),
    "teleport": ("transfer",),
}
