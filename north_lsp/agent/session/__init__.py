"""A live conversation: the session, how one is made, what is replayed, and the slash commands that act on it."""
