"""The command line: `north-lsp` and its subcommands."""
