"""The Agent Client Protocol over any carrier: its methods, the projection of events, and the Editor port."""
