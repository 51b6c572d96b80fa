"""Simulate a transaction before it is signed: what `tx check` is made of."""
