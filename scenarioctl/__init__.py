"""Unsigned transactions for Polkadot, Asset Hub and Hydration, from saved scenarios."""

__version__ = "0.1.0"
