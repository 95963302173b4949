"""Tools for planning work: the todo list."""
