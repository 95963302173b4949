"""Measurements of this checkout; each prints a table and asserts nothing."""
