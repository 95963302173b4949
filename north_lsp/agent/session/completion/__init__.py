"""What the user may mean where they type: in code, and behind an `@` of a prompt."""
