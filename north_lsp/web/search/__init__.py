"""Searching the web: one function for each provider's API, tried one after the other."""
