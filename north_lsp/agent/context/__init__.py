"""What a model is told besides the conversation: instructions, the project's rules and files, what the editor shows.

Everything here is read again for each turn and changes nothing; what is told once in a conversation is found in its
log."""
