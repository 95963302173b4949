"""Changes of texts: finding the place, making, merging and showing differences. Nothing here writes files."""
