"""The tasks that a conversation's model gives to agents, from the call to what is proposed of their work."""
