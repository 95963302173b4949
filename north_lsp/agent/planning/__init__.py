"""What a model and its user agree on besides edits and commands: the todo list."""
