"""The greeting itself: a salutation, the names, and an exclamation mark."""

from hello.names import join, tidy

SALUTATION = "Hello"
STRANGER = "stranger"


def greet(*names: str) -> str:
    """A greeting for everybody who is named.

    Names are tidied up first and blank ones are left out; without any
    name the greeting is for a stranger.
    """
    known = [name for name in map(tidy, names) if name]
    return f"{SALUTATION}, {join(known) or STRANGER}!"
