"""What every form of an export says in words: the facts about a conversation, what a call came to, what an answer
took. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from north_lsp.agent.exports.document import Answered, Branch, Call, Document
from north_lsp.agent.log.usage import StoredUsage
from north_lsp.display import money, one_line


def facts(document: Document) -> Iterator[tuple[str, str]]:
    """Return what the head of an export says, by name."""
    header = document.header
    yield "Conversation", document.id
    if header.root:
        yield "Project", header.root
    if header.at:
        yield "Began", moment(header.at)
    if document.updated and document.updated != header.at:
        yield "Last entry", moment(document.updated)
    models = list(dict.fromkeys(row.model for row in document.rows if isinstance(row, Answered) and row.model))
    if models or header.model:
        yield "Model" if len(models) < 2 else "Models", ", ".join(models) or header.model
    if document.usage is not None:
        yield "Used", usage_in_words(document.usage)
    if header.client:
        yield "Client", header.client
    if (parent := header.parent).id:
        yield "Comes from", f"{parent.id} ({parent.relation})" if parent.relation else parent.id


def title_of(branch: Branch) -> str:
    return f"After “{one_line(branch.after, 80)}”" if branch.after else "From the beginning"


def moment(at: str) -> str:
    """Return a moment of the log for people."""
    return f"{at[:16].replace('T', ' ')} UTC" if len(at) >= 16 and at[10] == "T" else at


def usage_in_words(usage: StoredUsage) -> str:
    read = usage.input + usage.cache_read + usage.cache_write
    cached = f" ({usage.cache_read:,} of them cached)" if usage.cache_read else ""
    cost = f"{money(usage.cost)}{'' if usage.priced else '+?'}"
    about = "about " if usage.estimated else ""
    return f"{about}{read:,} tokens in{cached}, {usage.output:,} out, {cost}"


def answer_took(row: Answered) -> str:
    """Return who answered and what it took, on one line."""
    took = [row.model] if row.model else []
    took += [usage_in_words(row.usage)] if row.usage is not None and row.usage.all_tokens else []
    took += [f"{row.seconds:.1f} s"] if row.seconds is not None else []
    took += ["stopped"] if row.stop_reason == "aborted" else []
    return " · ".join(took)


def call_state(call: Call) -> tuple[str, str, str]:
    """Return what a call came to: a mark, a word, and a style."""
    match call.ok:
        case True:
            return "✓", "done", "worked"
        case False:
            return "✗", "failed", "failed"
        case None:
            return "…", "no result", "note"


def result_in_words(call: Call) -> str:
    """Return a call's result for people: what a tool gave the model as JSON, with its texts as they are."""
    text = call.result or call.text
    try:
        found = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return text
    match found:
        case {"ok": True, "data": dict(fields)} | {"ok": False, "error": dict(fields)} if fields:
            return "\n".join(_field(str(name), value) for name, value in fields.items())
        case _:
            return text


def _field(name: str, value: object) -> str:
    if isinstance(value, str):
        return f"{name}:\n{value}" if "\n" in value.rstrip("\n") else f"{name}: {value.rstrip()}"
    return f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}"


def outcome_of_review(call: Call) -> str:
    """Return what the user decided on a call; empty if nobody was asked."""
    words = f"Decision: {call.review}" if call.review else ""
    if call.changes and not call.applied:
        words = f"{words}; not applied" if words else "Proposed, not applied"
    return f"{words}: {call.comment}" if call.comment else words
