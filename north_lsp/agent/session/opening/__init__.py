"""What a session is opened with, and what stands in the way of opening a conversation."""
