"""A conversation is kept: saved, named, found again, exported, closed in time."""
