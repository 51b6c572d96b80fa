"""Swaps on the exchange chain: routes, quotes, and the call."""
