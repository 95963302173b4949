"""Prompts on their way into turns, and the turns of a session one after the other."""
