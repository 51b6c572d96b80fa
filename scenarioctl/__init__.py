"""Unsigned transactions for Polkadot, Kusama and their parachains, from saved scenarios."""

__version__ = "0.1.0"
