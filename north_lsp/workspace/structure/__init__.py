"""What a source file is made of: symbols, outline and blocks, from one parse, remembered by content."""
