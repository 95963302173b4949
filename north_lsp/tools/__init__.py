"""The tools that a model can call: a registry, and one file per tool."""
