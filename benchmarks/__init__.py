"""Measurements of this checkout. Each prints a table and asserts nothing."""
