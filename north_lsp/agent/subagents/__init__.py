"""Agents that a model has work done by: which there are, what each may do, and what comes back of them."""
