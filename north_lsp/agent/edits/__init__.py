"""Edits: reviewed, applied, kept as checkpoints, undone and recovered."""
