"""Budgets, delays and hints of the attempts after a failure."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.turn.retry import Retries, RetryExhausted, RetrySettings, Wait
from north_lsp.providers.adapters.failures import retry_after_ms
from north_lsp.providers.base import AssistantMessage, Failed

NOTHING = AssistantMessage(())


def failure(*, retryable: bool = True, hint: int | None = None) -> Failed:
    return Failed("overloaded", "overloaded", NOTHING, 529, retryable, retry_after_ms=hint)


def retries(settings: RetrySettings | None = None, jitter: float = 0.5) -> Retries:
    return Retries(settings or RetrySettings(), lambda: jitter, lambda: datetime(2026, 1, 2, 22, 30))


def delays(budget: Retries, *, started: bool = False, delivered: bool = False) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    while isinstance(step := budget.after(failure(), started=started, delivered=delivered), Wait):
        found.append((step.layer, step.seconds))
    return found


def test_a_request_is_repeated_five_times_within_each_of_three_attempts() -> None:
    request = [("request", seconds) for seconds in (1, 2, 4, 8, 16)]
    found = delays(retries())
    assert found == [*request, ("turn", 2), *request, ("turn", 4), *request, ("turn", 8), *request]


def test_what_the_user_has_seen_is_only_repeated_as_a_turn() -> None:
    assert delays(retries(), started=True, delivered=True) == [("turn", 2), ("turn", 4), ("turn", 8)]


def test_a_stream_without_anything_to_see_has_its_own_budget() -> None:
    assert delays(retries(RetrySettings(max_retries=0)), started=True) == [
        ("stream", seconds) for seconds in (1, 2, 4, 8, 16)
    ]


def test_only_what_may_go_away_is_tried_again() -> None:
    assert retries().after(failure(retryable=False), started=False, delivered=False) == RetryExhausted()


def test_the_first_quick_repeat_is_not_shown() -> None:
    budget = retries()
    steps = [budget.after(failure(), started=False, delivered=False) for _ in range(2)]
    assert [isinstance(step, Wait) and step.shown for step in steps] == [False, True]


def test_a_longer_hint_wins_and_one_that_is_too_long_is_told_as_a_time() -> None:
    budget = retries()
    step = budget.after(failure(hint=5000), started=False, delivered=False)
    assert isinstance(step, Wait)
    assert step.seconds == 5
    assert budget.after(failure(hint=3_600_000), started=False, delivered=False) == RetryExhausted("try again at 23:30")


def test_success_makes_the_budgets_whole() -> None:
    budget = retries()
    before = delays(budget, delivered=True)
    budget.succeeded()
    assert delays(budget, delivered=True) == before


@given(
    st.builds(
        RetrySettings,
        st.booleans(),
        st.integers(0, 6),
        st.integers(0, 6),
        st.integers(0, 6),
        st.integers(0, 10_000),
        st.integers(0, 400_000),
        st.integers(0, 1_000_000),
    ),
    st.lists(st.tuples(st.booleans(), st.booleans(), st.none() | st.integers(0, 100_000)), max_size=80),
    st.floats(0, 1),
)
def test_all_waits_together_stay_below_the_bound(
    settings: RetrySettings, failures: list[tuple[bool, bool, int | None]], jitter: float
) -> None:
    budget = retries(settings, jitter)
    waited = 0.0
    for started, delivered, hint in failures:
        step = budget.after(failure(hint=hint), started=started, delivered=started and delivered)
        if isinstance(step, Wait):
            waited += step.seconds
            assert step.seconds >= (hint or 0) / 1000
            assert 1 <= step.attempt <= step.of
    assert waited * 1000 <= settings.max_elapsed_ms + 1


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1500),
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after": "Fri, 02 Jan 2026 22:30:10 GMT"}, 10_000),
        ({"retry-after": "Fri, 02 Jan 2026 22:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"x-ratelimit-reset-ms": "250"}, 250),
        ({"x-ratelimit-reset": "1767393030"}, 30_000),
    ],
)
def test_hints_of_headers(headers: dict[str, str], wait: int | None) -> None:
    now = datetime.fromisoformat("2026-01-02T22:30:00+00:00").timestamp()
    assert retry_after_ms(headers, now) == wait
