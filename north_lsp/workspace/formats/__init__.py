"""Files that are no plain text: archives, documents, databases, pictures."""
