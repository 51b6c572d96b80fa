"""Imports the whole program before the daemon listens, and keeps the garbage collector from scanning it.

After an upgrade on disk, a module imported on first use would be of another version than the rest.
"""

import gc
import linecache
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

#: Libraries that functions import. `tests/test_preloading.py` fails if one is missing here.
_LIBRARIES = (
    "Crypto.Hash.keccak",
    "base58",
    "blake3",
    "cronsim",
    "difflib",
    "ecdsa",
    "html",
    "platformdirs",
    "resvg_py",
    "segno",
    "sr25519",
    "ssl",
    "substrateinterface",
    "tempfile",
    "tomli_w",
    "tomllib",
    "uvloop",
    "xxhash",
    "zoneinfo",
)
#: The store on a PostgreSQL server: its package, and other modules and libraries that it needs.
_SERVER_STORE = "scenarioctl.stores.postgres"
_SERVER_DISPATCH = "scenarioctl.worker.procrastinate_bell"
_SERVER_LIBRARIES = ("procrastinate.schema", "psycopg_pool")
#: Packages and modules that a daemon doesn't need.
_NOT_SERVED = ("scenarioctl.cli", "scenarioctl.__main__", _SERVER_STORE, _SERVER_DISPATCH)
#: Threshold of the youngest generation of the garbage collector. A request makes hundreds of short-lived objects, for
#: which Python's default of 700 starts a collection again and again.
_YOUNG = 10_000


def preload(store: str = "") -> None:
    """Import everything that handlers, the worker, the pages and *store* need, and read the program's own data files."""
    import scenarioctl
    from scenarioctl.chains import asset_rows
    from scenarioctl.chains.data_files import read_text
    from scenarioctl.config import is_server
    from scenarioctl.server.endpoints import ENDPOINTS
    from scenarioctl.server.openapi import describe
    from scenarioctl.transactions.transfer import expected_fees, route_rows

    _import_all(scenarioctl)
    for library in _LIBRARIES:
        # The function that needs a missing library reports it.
        with suppress(ImportError):
            import_module(library)
    if is_server(store):
        # The store reports that its libraries are missing.
        with suppress(ImportError):
            _import_all(import_module(_SERVER_STORE))
            for library in (_SERVER_DISPATCH, *_SERVER_LIBRARIES):
                import_module(library)
    for file in (asset_rows.FILE, route_rows.FILE, expected_fees.FILE):
        read_text(file)
    # The descriptions of fields come from source files.
    describe(ENDPOINTS)
    linecache.clearcache()


def _import_all(package: ModuleType) -> None:
    for found in iter_modules(package.__path__, f"{package.__name__}."):
        if found.name not in _NOT_SERVED:
            module = import_module(found.name)
            if found.ispkg:
                _import_all(module)


def settle() -> None:
    """Exclude all current objects from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
