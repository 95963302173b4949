"""One adapter per vendor API, and what they share: HTTP, server-sent events, JSON, failures."""
