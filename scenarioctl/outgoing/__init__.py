"""Requests of http steps to web servers, kept away from private networks."""
