"""The tool calls of an answer: checked, run, and answered with exactly one result each."""
