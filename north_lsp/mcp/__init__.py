"""The Model Context Protocol, as a client: how servers are reached, and what they say. Knows no session.

Written for North rather than taken from the official SDK: see docs/architecture.md.
"""
