"""How full the window is, as clients are told."""

import pytest

from north_lsp.acp.extension_events import to_extension_events
from north_lsp.agent.ports.events import UsageChanged


@pytest.mark.parametrize(
    ("used", "level"), [(0, "ok"), (59_999, "ok"), (60_000, "warn"), (85_000, "warn"), (85_001, "high")]
)
def test_a_window_that_fills_has_a_level(used: int, level: str) -> None:
    event = UsageChanged(used, 100_000, 0.0)
    (((name, fields)),) = to_extension_events(event)
    assert (name, fields["context"]["level"], fields["context"]["ratio"]) == (
        "usage_updated",
        level,
        round(used / 100_000, 4),
    )
