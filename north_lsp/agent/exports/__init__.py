"""Conversations as documents for people: HTML, Markdown, plain text, JSON; and what a conversation adds up to. Made
from the log's projection. It shows nothing, and asks nobody."""
