"""Tests against real runtimes: `make live`, with endpoints named by the environment."""
