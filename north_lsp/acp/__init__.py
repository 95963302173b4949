"""The Agent Client Protocol over any carrier: methods, projection of events, and the Editor port in ACP's words."""
