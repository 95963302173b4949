"""The stored conversations of all projects."""
