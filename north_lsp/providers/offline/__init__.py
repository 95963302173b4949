"""A rule-based stand-in for a language model, included in the package: no key, no network, the same stream of
events."""
