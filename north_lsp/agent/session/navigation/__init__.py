"""Going back and forth in a conversation, and what becomes of what is left behind."""
