"""The whole program in memory before the daemon lets anybody in, and nothing of it looked at again.

What is imported only when it is first needed would, after an upgrade on the disk, be of another version than the rest.
"""

import gc
import linecache
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

#: Libraries that are imported by the functions that need them; `tests/test_preloading.py` names what is missing here.
_LIBRARIES = (
    "Crypto.Hash.keccak",
    "base58",
    "blake3",
    "cronsim",
    "difflib",
    "ecdsa",
    "ed25519_zebra",
    "html",
    "platformdirs",
    "resvg_py",
    "segno",
    "sr25519",
    "ssl",
    "tempfile",
    "tomli_w",
    "tomllib",
    "uvloop",
    "xxhash",
    "zoneinfo",
)
#: Commands are not for a daemon.
_NOT_SERVED = ("scenarioctl.cli", "scenarioctl.__main__")
#: Objects that come into being, less those that went, between two looks for what nobody holds any more.  One request
#: makes hundreds that live for its milliseconds; at Python's 700 they were looked through again and again.
_YOUNG = 10_000


def preload() -> None:
    """Import all that handlers, the worker and the pages may need, and read what they read of the program's own files."""
    import scenarioctl
    from scenarioctl.chains.assets import read_listing
    from scenarioctl.server.endpoints import ENDPOINTS
    from scenarioctl.server.openapi import describe

    _import_all(scenarioctl)
    for library in _LIBRARIES:
        # One that is missing is missed by whoever needs it.
        with suppress(ImportError):
            import_module(library)
    read_listing()
    # Fields are described by the comments beside them.
    describe(ENDPOINTS)
    linecache.clearcache()


def _import_all(package: ModuleType) -> None:
    for found in iter_modules(package.__path__, f"{package.__name__}."):
        if found.name not in _NOT_SERVED:
            module = import_module(found.name)
            if found.ispkg:
                _import_all(module)


def settle() -> None:
    """Count what is there as lasting, so that nobody looks through it in search of what can go."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
