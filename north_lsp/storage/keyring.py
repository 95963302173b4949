"""Keys in the system's keyring (`auth.storage`): North's own file then has only a reference. The package `keyring` is
imported only when a reference exists or is created."""

from __future__ import annotations

import os
from typing import Any

_SERVICE = "north-lsp"
_REFERENCE = "keyring:"


class KeyringError(OSError):
    """The keyring cannot be used; the text is one line for the user."""


def put(provider: str, secret: str) -> str:
    """Store a key; return the reference to it. Raises KeyringError."""
    name = f"{provider}-{os.urandom(16).hex()}"
    _call("set_password", name, secret)
    return _REFERENCE + name


def resolved(stored: str) -> str | None:
    """Return the key that a stored text stands for, which may be the text itself; None for one that is no longer in the
    keyring. Raises KeyringError."""
    if not stored.startswith(_REFERENCE):
        return stored
    found = _call("get_password", stored.removeprefix(_REFERENCE))
    return found if isinstance(found, str) else None


def forget(stored: str) -> None:
    """Remove the key that a stored text refers to. Raises KeyringError."""
    if resolved(stored) is not None and stored.startswith(_REFERENCE):
        _call("delete_password", stored.removeprefix(_REFERENCE))


def _call(method: str, *values: str) -> Any:
    try:
        import keyring
    except ImportError:
        raise KeyringError(
            "keys should be in the system's keyring (auth.storage), but the package keyring is not installed: "
            "pip install 'north-lsp[keyring]', or remove the setting"
        ) from None
    try:
        return getattr(keyring, method)(_SERVICE, *values)
    except Exception as error:  # noqa: BLE001 - a backend is foreign code
        text = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise KeyringError(f"the system's keyring cannot be used: {text[0]}") from None
