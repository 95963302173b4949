"""Approvals: what needs asking, and what the user answered."""
