"""Slash commands: what a user types to North itself. Knows no session; a `Host` is what they act on."""
