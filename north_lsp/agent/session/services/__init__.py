"""What the turns of a session are carried out with: settings, tools, the shell, MCP servers."""
