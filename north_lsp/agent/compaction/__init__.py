"""Keeps a conversation within its model's window: old outputs are pruned, old parts summarized."""
