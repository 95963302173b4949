"""Decides which model a session asks, and which one answers when that model cannot."""
