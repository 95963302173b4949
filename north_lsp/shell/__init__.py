"""Runs commands: shells, process trees, output, jobs and the sandbox."""
