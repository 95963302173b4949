"""The same waits, shorter: what is tested is their order."""

import pytest

from north_lsp.shell import bash, channels
from north_lsp.shell.guardian import GUARDIAN


@pytest.fixture(autouse=True, scope="session")
def guardian() -> None:
    """It starts with the first shell, and stays: no test is to count it."""
    GUARDIAN.start()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (
        ("_INTERRUPT_SECONDS", 0.4),
        ("_ASK_SECONDS", 0.1),
        ("_PROBE_SECONDS", 0.5),
    ):
        monkeypatch.setattr(bash, name, seconds)
    monkeypatch.setattr(channels, "_DRAIN_SECONDS", 0.6)
