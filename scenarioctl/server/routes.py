"""Which endpoint a path means."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, TypeVar
from urllib.parse import unquote_to_bytes

from scenarioctl.errors import BadRequest, MethodNotAllowed, NotFound, shorten

T = TypeVar("T")

#: Of endpoints without path parameters.
_NO_PARAMETERS: Mapping[str, str] = {}


class Routes(Generic[T]):
    """Paths, each with what answers it by method.  A path without parameters is found by one look-up."""

    def __init__(
        self,
        rows: Iterable[tuple[str, str, T]],
        *,
        elsewhere: "Elsewhere | None" = None,
        unsuggested: Container[str] = (),
    ) -> None:
        #: The paths of the other server, for those who knock at the wrong door.
        self._elsewhere = elsewhere
        #: Paths that no error suggests, since a program or a person may follow the suggestion without a second look.
        self._unsuggested = unsuggested
        self._exact: dict[str, dict[str, T]] = {}
        #: Number of segments -> patterns of so many.
        self._patterns: dict[int, list[tuple[tuple[str, ...], dict[str, T]]]] = {}
        self._paths: list[str] = []
        for method, path, point in rows:
            if path not in self._paths:
                self._paths.append(path)
            if "{" not in path:
                self._add(self._exact.setdefault(path, {}), method, point)
                continue
            segments = tuple(path.split("/")[1:])
            alike = self._patterns.setdefault(len(segments), [])
            for known, methods in alike:
                if known == segments:
                    self._add(methods, method, point)
                    break
            else:
                methods = {}
                self._add(methods, method, point)
                alike.append((segments, methods))

    @staticmethod
    def _add(methods: dict[str, T], method: str, point: T) -> None:
        methods[method] = point
        if method == "GET":
            methods["HEAD"] = point

    def find(self, method: str, raw_path: str) -> tuple[T, Mapping[str, str]]:
        """Return what answers, and the path's parameters; NotFound, MethodNotAllowed."""
        methods = self._exact.get(raw_path)
        if methods is not None:
            point = methods.get(method)
            if point is not None:
                return point, _NO_PARAMETERS
        for _, found, parameters in self._all(raw_path):
            point = found.get(method)
            if point is not None:
                return point, parameters
        allowed = self.methods(raw_path)
        if allowed:
            raise MethodNotAllowed(
                f"{method if method.isalpha() and len(method) < 20 else shorten(method)} is not what {_shown(raw_path)} takes, expected: {' or '.join(each for each in allowed if each != 'HEAD')}"
            )
        raise NotFound(f"there is no path {_shown(raw_path)}{self._hint(raw_path)}")

    def methods(self, raw_path: str) -> tuple[str, ...]:
        """Return the methods that a path takes; none for an unknown path."""
        return tuple(sorted({method for _, methods, _ in self._all(raw_path) for method in methods}))

    def meant(self, raw_path: str) -> str:
        """Return the path of the table that *raw_path* is or most likely means, on either server; empty if none is like it."""
        routes: list[Routes[Any]] = [self, *([self._elsewhere.routes] if self._elsewhere is not None else [])]
        try:
            for each in routes:
                for path, _, _ in each._all(raw_path):
                    return path
        except BadRequest:
            return ""
        return self._closest(raw_path, [path for each in routes for path in each._paths])

    def _all(self, raw_path: str) -> Iterable[tuple[str, dict[str, T], Mapping[str, str]]]:
        """Yield each path of the table that *raw_path* fits, its methods, and the values of its parameters."""
        segments = raw_path.split("/")[1:]
        if len(segments) > 16:
            return
        if "%" in raw_path:
            # A segment is cut before it is decoded: a slash in it stays where it is.
            segments = [_decode(segment) for segment in segments]
        path = "/" + "/".join(segments)
        if path in self._exact and path.count("/") == len(segments):
            # A path that is spelled out is never one with parameters too.
            yield path, self._exact[path], _NO_PARAMETERS
            return
        for names, methods in self._patterns.get(len(segments), ()):
            parameters = {}
            for name, segment in zip(names, segments, strict=True):
                if name.startswith("{") and segment:
                    parameters[name[1:-1]] = segment
                elif name != segment:
                    break
            else:
                yield "/" + "/".join(names), methods, parameters

    def _hint(self, raw_path: str) -> str:
        if self._elsewhere is not None and self._elsewhere.routes.methods(raw_path):
            return f" here, {self._elsewhere.name} has it"
        close = self._closest(raw_path, self._paths)
        if close and close not in self._unsuggested:
            return f", did you mean {close}?"
        return "; /docs lists those that there are"

    @staticmethod
    def _closest(raw_path: str, paths: Sequence[str]) -> str:
        close = get_close_matches(raw_path[:80].rstrip("/"), paths, n=1)
        return close[0] if close else ""


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """The other server."""

    #: `the job worker`.
    name: str
    routes: "Routes[Any]"


def _decode(segment: str) -> str:
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise BadRequest(f"the path is not UTF-8 text at {shorten(segment)}") from None


def _shown(path: str) -> str:
    return path if path and path.isascii() and path.isprintable() and len(path) <= 80 else shorten(path, 80)
