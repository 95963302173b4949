"""Tools that look at the structure of code."""
