"""A rule-based stand-in for a language model, inside the package: no key, no network, the same stream of events."""
