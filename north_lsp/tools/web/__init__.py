"""Tools that ask the web."""
