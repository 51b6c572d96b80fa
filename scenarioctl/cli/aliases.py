"""Words of the HTTP interface for commands, which are shown nowhere, and the words by which people
look for a command."""

#: Word of the interface, without the program's name -> the command that it means.
ALIASES = {
    "broadcast": "tx send",
    "create scenario": "create transfer",
    "info": "scenario info",
    "job mempool": "job drafts",
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
