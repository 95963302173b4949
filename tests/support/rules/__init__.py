"""What the vendors refuse, by their published rules, and in which words: one module for each API. Pure."""
