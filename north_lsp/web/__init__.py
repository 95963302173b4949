"""Pages of the web for tools: which address is meant, where it leads, and what comes back, within limits. What may be
asked for is decided above."""
