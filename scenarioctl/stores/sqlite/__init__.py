"""The embedded store: one SQLite file that many processes of one machine may have open."""
