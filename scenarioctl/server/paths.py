"""Errors for unknown paths and wrong methods."""

from collections.abc import Container, Mapping, Sequence

from aiohttp import web

from scenarioctl.errors import MethodNotAllowed, NotFound, closest, shorten


class Paths:
    """The paths of one server, and those of the other one."""

    def __init__(
        self,
        here: web.UrlDispatcher,
        elsewhere: web.UrlDispatcher,
        *,
        other: str,
        flags: Mapping[str, str],
        unsuggested: Container[str],
    ) -> None:
        self._here = here
        self._elsewhere = elsewhere
        #: Name of the other server for people: `the job worker`.
        self._other = other
        #: Path of either server -> the flag in its responses.
        self._flags = flags
        #: Paths that no error suggests, because a client may follow the suggestion blindly.
        self._unsuggested = unsuggested

    def wrong_method(self, path: str, error: web.HTTPMethodNotAllowed) -> MethodNotAllowed:
        """Return the error for a path that does not take the method of the request."""
        method, allowed = error.method, sorted(error.allowed_methods - {"HEAD"})
        shown = method if method.isalpha() and len(method) < 20 else shorten(method)
        return MethodNotAllowed(f"{_shown(path)} does not take {shown}, expected: {' or '.join(allowed)}")

    async def unknown(self, request: web.Request) -> NotFound:
        """Return the error for a path that this server does not have, with a hint where one helps."""
        path = request.rel_url.raw_path
        if await _find(self._elsewhere, request):
            return NotFound(f"there is no path {_shown(path)} here; {self._other} has it")
        close = _closest(path, _paths_of(self._here))
        hint = (
            f"; did you mean {close}?"
            if close and close not in self._unsuggested
            else "; /docs lists all paths"
        )
        return NotFound(f"there is no path {_shown(path)}{hint}")

    async def flag(self, request: web.Request) -> str:
        """Return the flag of the requested path, or of the one most likely meant; empty if it has none."""
        both = (self._here, self._elsewhere)
        found = [path for router in both if (path := await _find(router, request))]
        meant = (
            found[0]
            if found
            else _closest(request.rel_url.raw_path, [path for router in both for path in _paths_of(router)])
        )
        return self._flags.get(meant, "")


async def _find(router: web.UrlDispatcher, request: web.Request) -> str:
    """Return the path of *router* that matches a request with any method; empty if there is none."""
    for resource in router.resources():
        match, allowed = await resource.resolve(request)
        if match is not None or allowed:
            return resource.canonical
    return ""


def _paths_of(router: web.UrlDispatcher) -> list[str]:
    return [resource.canonical for resource in router.resources()]


def _closest(path: str, paths: Sequence[str]) -> str:
    return next(iter(closest(path.rstrip("/"), paths)), "")


def _shown(path: str) -> str:
    return path if path and path.isascii() and path.isprintable() and len(path) <= 80 else shorten(path, 80)
