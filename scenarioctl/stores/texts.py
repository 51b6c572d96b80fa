"""The texts that runs leave behind, as every store keeps them."""

#: Bytes of a line of the log; a longer one is cut.
LONGEST_LINE = 4096
#: Characters of drafts that a limited read returns at most, though one draft at least.
PORTION = 1024 * 1024


def clean(text: str) -> str:
    """Return *text* with `?` in place of lone surrogates and NUL characters, which a store may be unable to hold."""
    if "\0" in text:
        text = text.replace("\0", "?")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cut_line(line: str) -> str:
    """Return *line* as the log keeps it: clean, and with `…` at its end if it had to be cut."""
    data = clean(line).encode()
    if len(data) <= LONGEST_LINE:
        return data.decode()
    return data[: LONGEST_LINE - len("…".encode())].decode("utf-8", "ignore") + "…"
