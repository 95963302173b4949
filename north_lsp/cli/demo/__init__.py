"""`north-lsp demo`: an ACP client in the terminal that shows a whole turn against the real server."""
