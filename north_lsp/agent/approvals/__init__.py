"""What the user has decided: recorded in the log, remembered for the session or the project, listed."""
