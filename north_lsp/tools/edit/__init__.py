"""Tools that propose edits, and what they share."""
