"""The web for models: what may be fetched, what comes back, and questions about it."""
