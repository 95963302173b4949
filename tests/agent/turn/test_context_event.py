"""What extensions make of a conversation for one request: whatever they do, calls and results stay together."""

from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.log.rows import rows_of
from north_lsp.agent.turn.context_event import _changed
from north_lsp.providers.base import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage

MESSAGES: list[Message] = [
    UserMessage("first"),
    AssistantMessage((Text("I look."), ToolCall("a", "read_file", {}), ToolCall("b", "read_file", {}))),
    ToolResult("a", "read_file", "long", False),
    ToolResult("b", "read_file", "longer", False),
    AssistantMessage((Text("Seen."),)),
    UserMessage("second"),
    AssistantMessage((ToolCall("c", "list_root", {}),)),
    ToolResult("c", "list_root", "x", False),
]


def test_texts_are_changed_and_messages_left_out_and_added() -> None:
    rows = rows_of(MESSAGES)
    assert _changed(MESSAGES, rows) == MESSAGES
    assert [row["role"] for row in rows] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]
    rows[2]["text"], rows[1]["text"], rows[0]["text"] = "short", "never", " "
    changed = _changed(MESSAGES, [rows[0], {"role": "user", "text": "Be brief."}, *rows[1:4], rows[6]])
    assert changed == [
        MESSAGES[0],
        UserMessage("Be brief."),
        MESSAGES[1],
        ToolResult("a", "read_file", "short", False),
        *MESSAGES[3:4],
        *MESSAGES[6:],
    ]


def test_the_last_step_is_always_there() -> None:
    assert _changed(MESSAGES, [{"index": 5}]) == MESSAGES[5:]
    assert _changed(MESSAGES, []) is None


@given(st.lists(st.one_of(st.integers(-2, 9), st.none(), st.text(max_size=3)), max_size=12))
def test_no_call_is_without_its_result(order: list[object]) -> None:
    rows = [{"index": one, "role": "user", "text": "x"} if one is not None else {"role": "tool"} for one in order]
    changed = _changed(MESSAGES, rows)
    if changed is None:
        return
    assert isinstance(changed[0], UserMessage)
    waiting: list[str] = []
    for one in changed:
        if isinstance(one, ToolResult):
            assert waiting.pop(0) == one.call_id
        else:
            assert waiting == []
            waiting = [call.id for call in one.calls] if isinstance(one, AssistantMessage) else []
    assert waiting == []
    assert changed[-1] == MESSAGES[-1] or changed[-2:] != MESSAGES[-2:]
