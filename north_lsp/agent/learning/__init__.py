"""What North learns: of a project, when its user wants that, and of past conversations. Knows no live session."""
