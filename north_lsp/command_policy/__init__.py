"""Approvals: what needs asking and why, and what the user has already answered. Knows no editor."""
