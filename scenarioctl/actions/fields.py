"""The fields of a request or of a flow's step on their way into a form: judged now, unless a webhook fills them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.placeholders import has_placeholder
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import parse_number, to_raw, to_text
from scenarioctl.model.diagram import name_of

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain


class Fields:
    """What was given, by the interface's names; errors name `steps[0].amount`, or `amount` alone."""

    def __init__(self, values: Mapping[str, Any], place: str) -> None:
        self._values = values
        self._place = place

    def name(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def text(self, key: str, default: str = "") -> str:
        """Return a text; a number is taken as its digits."""
        value = self._values.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise InvalidRequest(f"{self.name(key)} is {name_of(value)}, expected text")
        return value

    def filled(self, key: str) -> str:
        """Return a text that may not be empty."""
        value = self.text(key)
        if not value.strip():
            raise InvalidRequest(f"{self.name(key)} is empty, expected text")
        return value

    def flag(self, key: str) -> bool:
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise InvalidRequest(f"{self.name(key)} is {name_of(value)}, expected true or false")
        return value

    def chain(self, app: "Application", key: str, default: str = "") -> "Chain":
        return app.registry.find(self._values.get(key, default), field=self.name(key))

    def asset(self, app: "Application", chain: "Chain", key: str) -> "Asset | str":
        """Return the asset, or the text with the placeholder that will name it."""
        value = self._values.get(key)
        if isinstance(value, str) and has_placeholder(value):
            return value
        return app.assets.find(chain, value, field=self.name(key))

    def account(self, key: str, chain: "Chain") -> tuple[str, bytes | None]:
        """Return an address as it was written and the account on *chain* that it names; None where a placeholder will name it."""
        value = self._values.get(key)
        if isinstance(value, str) and has_placeholder(value):
            return value, None
        account = chain.account_format.parse(value, field=self.name(key))
        return str(value), account

    def amount(self, key: str, asset: "Asset | str") -> str:
        """Return whole tokens as text, exact in *asset*'s decimals."""
        return self.scaled_amount(key, asset)[0]

    def scaled_amount(self, key: str, asset: "Asset | str") -> tuple[str, int | None]:
        """Return whole tokens as text, and in the smallest unit; None where a placeholder has to come first."""
        value = self._values.get(key)
        if isinstance(value, str) and has_placeholder(value):
            return value, None
        field = self.name(key)
        number = parse_number(value, field=field)
        raw = None
        if not isinstance(asset, str):
            raw = to_raw(number, known_decimals(asset, field, value), field=field, symbol=asset.display_name)
        return to_text(number), raw


def note_native(given: object, asset: "Asset", field: str) -> tuple[str, ...]:
    """Return the note on an asset that was *given* as 0, where 0 is no id of its own; none for others."""
    if (
        asset.kind != "native"
        or asset.id == "0"
        or str(given).strip().strip("0")
        or given is None
        or given == ""
    ):
        return ()
    return (f"{field} 0 is {asset.display_name} on {asset.chain}, its native asset",)


def read_xcm_version(value: object, field: str) -> int | None:
    """Return the version of XCM that *value* names, None if it names none."""
    if value is None or value == "":
        return None
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if text not in ("3", "4", "5"):
        raise InvalidRequest(f"{field} {shorten(value)} is not a version of XCM, expected 3, 4 or 5")
    return int(text)


def known_decimals(asset: "Asset", field: str, value: object) -> int:
    """Return *asset*'s decimals, without which whole tokens mean nothing."""
    if asset.decimals is None:
        raise InvalidRequest(
            f"{field} {shorten(value)} is in whole tokens, but the decimals of asset {asset.label} on {asset.chain} "
            "are not known here: send a raw amount with `xcm asset-transfer`"
        )
    return asset.decimals
