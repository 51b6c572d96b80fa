"""Validate a signed extrinsic, submit it once, and follow it into a block."""
