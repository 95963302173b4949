"""Greets people by name."""

from hello.greeting import greet

__all__ = ["greet"]
