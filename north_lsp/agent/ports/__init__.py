"""What the core asks of its surroundings, and the events that an editor can be shown."""
