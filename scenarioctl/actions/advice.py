"""Errors in the log of a run: nobody can follow advice about options there, since no command line is at hand."""

import re

#: What separates a statement from the advice behind it.
_BETWEEN = re.compile(r"(; |(?<!\"): |, or )")
_OPTION = re.compile(r"(?<!\S)--[a-z]")
#: Says why, and is no advice.
_REASON = "--offline forbids"
#: Says how to make the scenario anew, which can be followed wherever the log is read.
_ANEW = "Create the scenario with"


def without_options(sentence: str) -> str:
    """Return *sentence* without the clauses that advise an option: `…; --offline builds with the runtime table at hand`."""
    first, *rest = _BETWEEN.split(sentence)
    kept = [first]
    for separator, clause in zip(rest[::2], rest[1::2], strict=True):
        advised = _OPTION.search(clause) is not None and _REASON not in clause and _ANEW not in clause
        # Of the option that the reason before it names.
        if not advised and not (clause == "leave it out" and _REASON in kept[-1]):
            kept += [separator, clause]
    return "".join(kept)
