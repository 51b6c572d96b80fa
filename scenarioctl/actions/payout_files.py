"""Files that payouts read anew each time they are drafted, if their folder is among those that the
operator allows."""

from pathlib import Path
from typing import TYPE_CHECKING

from scenarioctl.actions.payout_lines import LONGEST, LineReader, PayoutLine, mistakes_error
from scenarioctl.errors import InvalidRequest
from scenarioctl.files import read_file, reason_of

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Chain

#: What a form and a request call the path.
REREAD = "reread"


async def reread(
    app: "Application", path: object, *, chain: "Chain", asset: object
) -> tuple[list[PayoutLine], tuple[str, ...]]:
    """Return the lines that the file *path* has now, all of which are on *chain*, and warnings.

    *asset* is that of lines without one. InvalidRequest if no payout may read the file, or names
    the lines that are wrong.
    """
    book = {each.name: each.address for each in await app.store.addresses().list()}
    reader = LineReader(
        app=app, chain=chain.name, asset=asset if isinstance(asset, str) else "", book=book
    )

    def read() -> list[PayoutLine]:
        return reader.read(_read(_allowed(app, path)))

    lines = await app.aside(read)
    for each in lines:
        if each.chain.name != chain.name:
            reader.add(
                each.number,
                "chain",
                f"line {each.number}, chain is not {chain.title}, as the payout's is",
            )
    if reader.mistakes:
        raise mistakes_error(reader.mistakes).named(REREAD)
    reader.check_totals(lines)
    reader.refuse_duplicates(lines)
    warnings = [f"Paid twice: {each.sentence}." for each in reader.mistakes[:1]]
    return lines, tuple(warnings)


def _allowed(app: "Application", path: object) -> Path:
    """Return *path*, which must be that of a file in one of the folders that payouts may read."""
    if not isinstance(path, str) or not path:
        raise InvalidRequest(field=REREAD, value=path, problem="is not the path of a file")
    folders = app.settings.payout_folders
    if not folders:
        raise InvalidRequest(
            field=REREAD,
            value=path,
            limit=200,
            problem="can't be read by a run: list its folder in payout_folders in config.toml",
        )
    try:
        real = Path(path).resolve()
        # A link out of the folder is followed first.
        if Path(path).is_absolute() and any(
            real.is_relative_to(Path(each).resolve()) for each in folders
        ):
            return real
    except (OSError, ValueError, RuntimeError):
        pass
    raise InvalidRequest(
        field=REREAD,
        value=path,
        limit=200,
        problem="is in no folder of payout_folders",
        expected=f"the whole path of a file in one of: {', '.join(folders)}",
    )


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            raise InvalidRequest(field=REREAD, value=str(path), limit=200, problem="is not a file")
        return read_file(path, limit=LONGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text: byte {error.start} is wrong"
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {reason_of(error)}"
    raise InvalidRequest(field=REREAD, value=str(path), limit=200, problem=problem) from None
