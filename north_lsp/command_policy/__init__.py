"""Decides which commands ask and why, and what the user has already allowed. Does not depend on an editor."""
