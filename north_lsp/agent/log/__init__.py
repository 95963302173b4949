"""Between the conversation's entries and what models, readers and exports get of them."""
