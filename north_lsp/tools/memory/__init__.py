"""Tools for what outlasts a conversation."""
