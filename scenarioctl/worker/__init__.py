"""Runs jobs when they are due."""
