"""What North learns of a session's project when its user wants that: its profile and its memory."""
