"""Rules that watch an answer while it streams, stop it, and tell the model why."""
