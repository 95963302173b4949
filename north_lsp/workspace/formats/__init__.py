"""Files that are not plain text: archives, documents, databases, pictures."""
