"""Searching texts and finding files by pattern, in bounded time."""
