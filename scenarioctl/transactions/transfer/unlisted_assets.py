"""Assets of a parachain that are not listed here, named by their location: XCM names assets by nothing else."""

from typing import TYPE_CHECKING

from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import absolute, read_location, seen_from, write_location

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain

#: The kind of an asset of which only the location is known.  Its balances can't be read: a dry run alone moves it.
UNLISTED = "unlisted"


def find_sent_asset(assets: "Assets", chain: "Chain", asset_id: object, *, field: str) -> Asset:
    """Return the asset of *chain* that *asset_id* names, as `Assets.find` does; on a parachain, any location names one.

    Only a check opens transfers of an asset that is not listed.
    """
    text = asset_id.strip() if isinstance(asset_id, str) else ""
    if chain.role != "parachain" or chain.para_id is None or "/" not in text or text[0] not in "012":
        return assets.find(chain, asset_id, field=field)
    identity = absolute(write_location(read_location(text, field=field)), chain.para_id)
    listed = (absolute(asset.location, chain.para_id) for asset in assets.all(chain) if asset.location)
    if identity in listed:
        return assets.find(chain, asset_id, field=field)
    location = seen_from(identity, chain.para_id)
    return Asset(
        chain=chain.name,
        id=location,
        symbol="",
        decimals=None,
        kind=UNLISTED,
        location=location,
        reserve=assets.reserve_of(chain, location),
    )
