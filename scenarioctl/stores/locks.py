"""Keys of locks that a transaction of a server holds until its end, so that what others must not do meanwhile waits.

A statement takes one by `{lock …}`; a file has one writer at a time, and needs none.  Processes of other versions use the same keys.
"""

from hashlib import blake2b


def lock_key(name: bytes) -> int:
    """Return the second key of a lock on what has this *name*; the first one says what it is."""
    return int.from_bytes(blake2b(name, digest_size=4).digest(), signed=True)
