"""A conversation is shown again: from its start, before all of it is read, or while another process writes it."""
