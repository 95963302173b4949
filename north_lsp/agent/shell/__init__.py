"""Shell commands: approved, run in the sandbox or a terminal, in the foreground or as jobs."""
