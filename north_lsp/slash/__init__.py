"""Slash commands: what a user types to North itself. They know no session; they act on a `Host`."""
