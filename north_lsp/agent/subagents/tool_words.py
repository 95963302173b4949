"""Which tools the words of a definition mean: names, groups, and other tools' names for the same. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from north_lsp.tools.base import Tool

NEVER = frozenset(
    {"todo", "ask", "write_plan", "enter_plan_mode", "exit_plan_mode", "remember", "search_tools", "goal", "workflow"}
)
"""What belongs to the conversation with the user alone."""
TASK = "task"
_SHELL = ("shell_run", "job")
_WEB = ("web_search", "web_fetch")
_LOOK = ("list_root", "find_files")
_EDITS = ("edit", "multiedit", "write", "notebookedit", "replace", "write_file", "apply_patch")
_FOREIGN: dict[str, tuple[str, ...]] = {
    "read": ("read_file", "read_around", "get_line_count", "read_readme", "expand_output"),
    "notebookread": ("read_file",),
    "read_many_files": ("read_file",),
    "ls": _LOOK,
    "list_directory": _LOOK,
    "glob": ("find_files",),
    "grep": ("search_text",),
    "search_file_content": ("search_text",),
    "bash": _SHELL,
    "bashoutput": ("job",),
    "killshell": ("job",),
    "killbash": ("job",),
    "run_shell_command": _SHELL,
    "webfetch": ("web_fetch",),
    "websearch": ("web_search",),
    "google_web_search": ("web_search",),
    "search": ("search_text", "find_files"),
    "execute": _SHELL,
    "agent": (TASK,),
}
"""How other tools call what North has, in lower case."""
_WITHOUT = frozenset({"todowrite", "todoread", "askuserquestion", "exitplanmode", "skill", "slashcommand"})
"""What other tools have and no agent here gets: that is no mistake in a file."""


def chosen_tools(words: Sequence[str] | None, tools: Sequence[Tool]) -> tuple[list[Tool], list[str]]:
    """Return those of the tools that the words mean, in their order, and the words that mean nothing here. None means
    all."""
    names: set[str] = set()
    unknown: list[str] = []
    for word in ("*",) if words is None else words:
        meant = _meant(word, tools)
        names |= meant
        if not meant and word.casefold() not in _WITHOUT | {*_WEB, "web", "webfetch", "websearch", "mcp", TASK}:
            unknown.append(word)
    return [tool for tool in tools if tool.name in names and tool.name not in NEVER], unknown


def _meant(word: str, tools: Sequence[Tool]) -> set[str]:
    known = {tool.name for tool in tools}
    low = word.casefold()
    if low == "*":
        return known
    if word == "read":  # North's group; `Read` is another tool's word for reading a file
        return {tool.name for tool in tools if tool.only_reads}
    if low in _EDITS:
        return {tool.name for tool in tools if writes(tool)}
    groups: dict[str, Collection[str]] = {"shell": _SHELL, "web": _WEB}
    if low in groups:
        return known & {*groups[low]}
    if low.startswith("mcp"):
        start = low.replace("__", "_").replace("-", "_")
        return {name for name in known if name == start or name.startswith(f"{start.rstrip('_*')}_")}
    if word in known:
        return {word}
    return known & {*_FOREIGN.get(low, ())}


def writes(tool: Tool) -> bool:
    """Tell whether a tool proposes edits."""
    return "write" in tool.needs
