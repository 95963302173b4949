"""The agent loop. Knows no protocol, no vendor, no file format."""
