"""Commands: running them, their process trees, their output."""
