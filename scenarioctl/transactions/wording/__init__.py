"""Calls and XCM programs in words, for the person who signs."""
