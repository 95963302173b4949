"""Tools that propose edits, and the code that they share."""
