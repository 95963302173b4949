"""Serving a connection: its opening, how it is put together, and the carriers standard input/output and TCP."""
