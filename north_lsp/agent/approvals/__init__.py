"""The user's decisions: recorded in the log, remembered for the session or the project, listed."""
