"""A tool that calculates."""
