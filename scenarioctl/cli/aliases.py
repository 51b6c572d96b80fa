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
    "template stats": "chain stats",
}

#: What other programs, and people, call a command -> the last word of ours.
SYNONYMS = {
    "accounts": ("balance",),
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
