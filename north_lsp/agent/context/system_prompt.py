"""Puts the system text of a request together from its parts, always in the same order, so that caches serve it."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.context.documents import cut, framed, in_frame, size_of
from north_lsp.agent.context.own_prompt import OwnText
from north_lsp.agent.context.project import ProjectContext
from north_lsp.agent.context.rules import Rule
from north_lsp.agent.context.sources import CURSOR_FOLDER
from north_lsp.agent.prompts import render
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass

_MAX_LISTED = 100
_MAX_SERVER_BYTES = 2 * 1024
_MAX_SERVERS_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the system text. `source` says where it comes from, for people."""

    id: str
    title: str
    source: str
    text: str


def system_sections(
    environment: str, project: ProjectContext, hint: OwnText | None, max_rule_bytes: int
) -> list[Section]:
    """Make the parts in order; one that would be empty is left out."""
    own = project.own
    behaviour = own.instead or OwnText(render("system"), "North")
    sections = [Section("behaviour", "Instructions", behaviour.shown, behaviour.text)]
    sections += [Section("added", "Added instructions", one.shown, one.text) for one in (own.added, hint) if one]
    sections += [
        Section("safety", "Files in answers, foreign text", "North", render("safety")),
        Section("environment", "Environment", "this machine", environment),
        Section("rules", "Project rules", "rule files", always_rules(project, max_rule_bytes)),
        Section("files", "Context files", "AGENTS.md and the like", _files(project)),
        Section("rulebook", "Rules to look up", "rule files", _rulebook(project)),
    ]
    return [section for section in sections if section.text]


def servers_section(servers: Sequence[tuple[str, str]]) -> Section | None:
    """Make the part that says how MCP servers want to be used, each as far as there is room; None if none says it."""
    rows, left = list[dict[str, str]](), _MAX_SERVERS_BYTES
    for name, said in servers:
        body = cut(said, min(left, _MAX_SERVER_BYTES), "[truncated]") if left > 0 else ""
        left -= size_of(body)
        rows += [{"text": in_frame("server_text", body, server=name)}] if body else []
    return Section("servers", "MCP servers", "MCP servers", render("tool_servers", servers=rows)) if rows else None


def joined(sections: Sequence[Section]) -> str:
    return "\n\n".join(section.text for section in sections)


def always_rules(project: ProjectContext, max_bytes: int) -> str:
    """Render the rules that always apply, cut at the end of a line if they are too long together."""
    chosen = [rule for rule in project.rules if rule.applies and "always" in rule.buckets]
    if not chosen:
        return ""
    rows: dict[bool, list[dict[str, str]]] = {False: [], True: []}
    left, more = max_bytes, 0
    for rule in chosen:
        if left <= 0:
            more += 1
            continue
        body = cut(rule.body, left, "[truncated]")
        left -= size_of(rule.body)
        rows[_is_cursors(rule)].append({"path": rule.shown, "text": framed(rule.level, body)})
    told = f"[{more} more rules are left out: there is no room for them]" if more else ""
    return render("rules", rules=rows[False], cursor=rows[True], more=told)


def rules_left_out(project: ProjectContext, max_bytes: int) -> str | None:
    """Say that rules are cut; None if all of them fit."""
    whole = sum(size_of(rule.body) for rule in project.rules if rule.applies and "always" in rule.buckets)
    if whole <= max_bytes:
        return None
    return f"the rules that always apply have {whole:,} bytes: the first {max_bytes:,} are used (`rules.maxBytes`)"


def _is_cursors(rule: Rule) -> bool:
    return rule.provider == "cursor" and CURSOR_FOLDER in rule.shown


def _files(project: ProjectContext) -> str:
    rows = [{"path": one.shown, "text": framed(one.level, one.body)} for one in project.files if one.applies]
    return render("files", files=rows) if rows else ""


def _rulebook(project: ProjectContext) -> str:
    rules = [rule for rule in project.rules if rule.applies and "rulebook" in rule.buckets][:_MAX_LISTED]
    return render("rulebook", rules=[{"line": _listed(rule)} for rule in rules]) if rules else ""


def _listed(rule: Rule) -> str:
    globs = f" ({', '.join(one_line(glob, 80) for glob in rule.globs[:5])})" if rule.globs else ""
    return _unframed(f"- {rule.name}: {one_line(rule.description, 300)}{globs}")


def _unframed(line: str) -> str:
    """Keep a line of a project's from ending the list that it is in."""
    return line.replace("<", "&lt;")
