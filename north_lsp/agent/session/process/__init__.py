"""What the sessions of a process share, and how they ask its user outside of a turn."""
