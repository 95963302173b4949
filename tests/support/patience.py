"""How long tests wait for something that is bound to come."""

PATIENCE = 1800.0
"""Seconds. It ends a test that hangs, and decides nothing else: on a busy machine everything takes as long as it
takes."""
