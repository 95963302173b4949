"""A live session, as slash commands see it."""
