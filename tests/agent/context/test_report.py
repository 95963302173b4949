"""What `/context` says of the next request: every part of it, and where it comes from."""

from pathlib import Path

from north_lsp.agent.context.project import ProjectContext
from north_lsp.agent.context.report import Report, context_items, context_parts
from north_lsp.agent.context.system_prompt import Section
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.messages import Mention, News, PromptEntry, Words
from north_lsp.agent.log.transcript import said_by_user
from north_lsp.providers.base import AssistantMessage, Message, Text, ToolCall, ToolResult, ToolSpec, UserMessage
from north_lsp.providers.catalog.loading import load_catalog

MODEL = load_catalog(Path("/nowhere"), {}).models[0]
PROMPT = PromptEntry(Content((News("<context>rule</context>", "rule:a"), Words("Look"), Mention("a.py", "x" * 700))))
MESSAGES: list[Message] = [
    UserMessage("<summary>\nEarlier.\n</summary>"),
    UserMessage(said_by_user(PROMPT)),
    AssistantMessage((Text("I look."), ToolCall("a", "read_file", {"path": "a.py"}))),
    ToolResult("a", "read_file", "y" * 3500, False),
]


def spec(name: str) -> ToolSpec:
    return ToolSpec(name, "Does it.", {"type": "object"})


def test_each_part_is_told_apart() -> None:
    specs = [spec("read_file"), spec("mcp_db_query"), spec("mcp_db_list"), spec("mcp_web_get")]
    servers = {"mcp_db_query": "db", "mcp_db_list": "db", "mcp_web_get": "web"}
    sections = [Section("behaviour", "Instructions", "North", "Be brief.")]
    parts = context_parts(sections, specs, MESSAGES, [Logged("1", None, "", PROMPT)], servers, MODEL)
    assert [(one.id, one.title) for one in parts] == [
        ("tools", "Tools (1)"),
        ("tools", "Tools of db (2)"),
        ("tools", "Tools of web (1)"),
        ("behaviour", "Instructions"),
        ("summary", "Summary of the older part"),
        ("user", "Prompts"),
        ("attachments", "Attachments"),
        ("told", "Rules and news told with prompts"),
        ("assistant", "Answers"),
        ("results", "Results of read_file (1)"),
    ]
    sizes = {one.title: one.bytes for one in parts}
    assert (sizes["Attachments"], sizes["Rules and news told with prompts"]) == (700, 23)
    assert sizes["Prompts"] == len(said_by_user(PROMPT)) - 723
    whole = Report(parts, context_items(ProjectContext()), (), 10_000).markdown
    assert "| Attachments |" in whole
    assert "attach the lines that matter" not in whole  # they are not much of it


def test_what_takes_most_is_named_with_a_hint() -> None:
    prompt = PromptEntry(Content((Words("Look"), Mention("a.py", "x" * 40_000))))
    parts = context_parts([], [], [UserMessage(said_by_user(prompt))], [Logged("1", None, "", prompt)], {}, MODEL)
    assert "attach the lines that matter" in Report(parts, (), (), None).markdown
