"""Telling messages apart, for whatever may come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.rpc.framing import Malformed
from north_lsp.rpc.messages import Invalid, Notification, Request, Response, classify

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=6,
)
fields = st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), json_values)


@given(fields | json_values)
def test_whatever_comes_is_classified_and_an_answer_has_the_id_it_came_with(frame: object) -> None:
    message = classify(frame)
    if isinstance(message, Invalid) and message.reply is not None:
        assert message.reply["error"]["message"]
        assert "\n" not in message.reply["error"]["message"]
        assert message.reply["id"] is None or (isinstance(frame, dict) and message.reply["id"] == frame["id"])


def code_of(frame: object) -> int:
    message = classify(frame)
    assert isinstance(message, Invalid)
    assert message.reply is not None
    code = message.reply["error"]["code"]
    assert isinstance(code, int)
    return code


def test_requests_notifications_and_answers() -> None:
    assert isinstance(classify({"id": "a", "method": "m"}), Request)
    assert isinstance(classify({"id": 0, "method": "m", "params": None}), Request)
    assert isinstance(classify({"method": "m", "params": {}}), Notification)
    assert isinstance(classify({"id": 1, "result": None}), Response)
    answer = classify({"id": 1, "error": {"code": 5, "message": "no"}})
    assert isinstance(answer, Response)
    assert answer.error is not None
    assert (answer.error.code, answer.error.message) == (5, "no")


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (Malformed("x"), -32700),
        ([{"id": 1, "method": "m"}], -32600),
        ("text", -32600),
        ({"id": True, "method": "m"}, -32600),
        ({"id": None, "method": "m"}, -32600),
        ({"id": 1.5, "method": "m"}, -32600),
        ({"id": 1}, -32600),
        ({}, -32600),
        ({"id": 1, "method": 5}, -32600),
        ({"id": 1, "method": "m", "params": [1]}, -32602),
    ],
)
def test_what_is_not_a_message_is_refused(frame: object, code: int) -> None:
    assert code_of(frame) == code


def test_a_notification_with_bad_params_is_not_answered() -> None:
    assert classify({"method": "m", "params": 5}) == Invalid(None)
