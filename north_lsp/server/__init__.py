"""Serves a connection: its opening, its assembly, and the carriers (standard input/output and TCP)."""
