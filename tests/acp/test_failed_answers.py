from typing import Any

from north_lsp.acp.initialize import Client
from north_lsp.acp.v1 import updates
from north_lsp.agent.ports.events import AnswerDelta, Event, RetryWaiting


def told(event: Event) -> dict[str, Any]:
    (update,) = updates(event, Client(), [])
    return update


def test_a_failure_is_told_beside_the_words_for_clients_that_know_nothing_of_it() -> None:
    update = told(AnswerDelta("m", "\n\n**No answer:** a\u202eb", failure="a\u202eb"))
    assert update["content"]["text"] == "\n\n**No answer:** a<U+202E>b"
    assert update["_meta"] == {"north": {"failure": {"text": "a<U+202E>b"}}}


def test_an_answer_has_no_failure() -> None:
    assert "_meta" not in told(AnswerDelta("m", "Hello"))


def test_a_wait_says_why_beside_its_numbers() -> None:
    update = told(RetryWaiting("retry-1", 2, 5, 7, "slow\ndown", "waiting", True))
    retry = {"attempt": 2, "maxAttempts": 5, "remainingMs": 7000, "reason": "slow down"}
    assert update["_meta"] == {"north": {"retry": retry}}
    limited = told(RetryWaiting("retry-1", 2, 5, 7, "slow\ndown", "waiting", kind="rate_limit"))
    assert limited["_meta"] == {"north": {"retry": retry | {"kind": "rate_limit"}}}
