"""What a vendor said of tokens is kept as it is, as long as that is small."""

import json

from north_lsp.agent.turn.raw_usage import counts_of, kept_usage
from north_lsp.providers.base import Usage


def test_counts_are_kept_as_the_vendor_has_them() -> None:
    said = {
        "input_tokens": 3,
        "service_tier": "standard",
        "cost": 0.25,
        "is_byok": False,
        "speed": None,
        "cache_creation": {"ephemeral_5m_input_tokens": 2},
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 7}],
    }
    assert kept_usage(said) == said


def test_what_is_deep_long_or_much_is_left_out() -> None:
    hostile = {
        "text": "x" * 101,
        "k" * 101: 1,
        "deep": {"er": {"still": {"deeper": 1}, "count": 2}},
        "huge": 10**400,
        "never": float("inf"),
        "many": list(range(10_000)),
        "empty": {"text": "x" * 101},
        **{f"count{number}": number for number in range(10_000)},
    }
    kept = kept_usage(hostile)
    assert kept["deep"] == {"er": {"count": 2}}
    assert kept["many"] == list(range(40))
    assert not kept.keys() & {"text", "huge", "never", "empty", "k" * 101}
    assert len(json.dumps(kept)) < 4_000


def test_a_sum_of_counts_has_what_was_said_last_and_equals_one_without() -> None:
    both = Usage(1, 2, raw={"a": 1}) + Usage(3, 4, raw={"b": 2})
    assert both == Usage(4, 6)
    assert both.raw == {"b": 2}
    assert (both + Usage()).raw == {"b": 2}
    assert counts_of(both) == {"input": 4, "output": 6, "cache_read": 0, "cache_write": 0}
