"""The interfaces through which the core uses its surroundings, and the events that an editor can be shown."""
