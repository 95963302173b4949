"""Tools that read files and search the project."""
