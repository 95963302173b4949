"""MCP servers: which there are, which may start, their tools before models, and which calls ask."""
