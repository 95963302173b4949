"""What a source file consists of: symbols, outline and blocks, from a single parse, cached by content."""
