"""What the vendors refuse according to their published rules, and in which words: one module for each API. Pure."""
