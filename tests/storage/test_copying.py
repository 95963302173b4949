"""Moving in a conversation, naming its places and copying it: every entry stays where it was, and reading gives the
same."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.storage import copying
from north_lsp.storage.artifacts import Artifacts
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.copying import NotCopied, Place
from north_lsp.storage.listing import delete_conversation, list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.trash import restore

New = Callable[..., Conversation]


def user(text: str = "hello") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def ids(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["id"] for entry in entries]


def state(conversation: Conversation) -> dict[str, Any]:
    return {
        "entries": conversation.entries,
        "path": ids(conversation.active_path()),
        "leaf": conversation.leaf,
        "labels": dict(conversation.labels),
        "title": conversation.title,
        "warnings": conversation.warnings,
    }


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["user", "custom", "reopen", "fork", "fork elsewhere", "trash", "move", "summary"]),
        st.tuples(st.sampled_from(["rewind", "branch", "label", "unlabel"]), st.integers(0, 50)),
    ),
    max_size=20,
)


@settings(max_examples=200)
@given(STEPS)
def test_whatever_is_done_every_entry_can_be_reached_and_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | tuple[str, int]]
) -> None:
    base = tmp_path_factory.mktemp("moves")
    store = Locations(base, base, base)
    conversation = Conversation.create(
        store, repo_root=base, repo_hash="0", cwd=base, model="m", client=None, north_version="0"
    )
    first = conversation.append("message", message=user())
    parents: dict[str, str | None] = {first["id"]: None}
    labels: dict[str, str] = {}
    leaf: str | None = first["id"]
    left: list[tuple[Conversation, dict[str, Any]]] = []
    project = "0"

    def path(of: str | None) -> list[str]:
        return [*path(parents[of]), of] if of is not None else []

    for step in steps:
        known = list(parents)
        match step:
            case "user" | "custom":
                payload: dict[str, Any] = {"message": user()} if step == "user" else {}
                added = conversation.append("message" if step == "user" else "custom", **payload)
                parents[added["id"]], leaf = leaf, added["id"]
            case ("rewind", number):
                leaf = [None, *known][number % (len(known) + 1)]
                conversation.move_leaf(leaf, "rewind")
            case ("label", number):
                target = known[number % len(known)]
                labels[target] = f"label {number}"
                conversation.annotate("label", targetId=target, label=labels[target])
            case ("unlabel", number):
                labels.pop(target := known[number % len(known)], None)
                conversation.annotate("label", targetId=target, label="")
            case "reopen":
                conversation.close()
                conversation = Conversation.open(store, conversation.id)
            case "summary":
                added = conversation.append("branch_summary", fromId=leaf or "root", summary="What was tried")
                parents[added["id"]], leaf = leaf, added["id"]
            case "move":
                root = str(len(parents))
                conversation.annotate("session_moved", repoRoot=f"/{root}", repoHash=root, cwd=f"/{root}")
                project = root
            case "trash":
                conversation.close()
                assert delete_conversation(store, conversation.id)
                assert restore(store, conversation.id).id == conversation.id
                conversation = Conversation.open(store, conversation.id)
            case "fork" | "fork elsewhere":
                left.append((conversation, state(conversation)))
                place = Place(base / "other", "other") if step == "fork elsewhere" else None
                project = "other" if place is not None else project
                copy, _ = copying.fork(conversation, store, place)
                conversation.close()
                conversation = Conversation.open(store, copy)
            case ("branch", number):
                target = known[number % len(known)]
                left.append((conversation, state(conversation)))
                copy, _ = copying.branch(conversation, store, target)
                conversation.close()
                conversation = Conversation.open(store, copy)
                kept = path(target)[:-1]
                parents = {id: parents[id] for id in kept}
                labels = {id: label for id, label in labels.items() if id in kept}
                leaf = kept[-1] if kept else None
                if not parents:
                    added = conversation.append("message", message=user())
                    parents, leaf = {added["id"]: None}, added["id"]
        assert ids(conversation.entries) == list(parents)
        assert {entry["id"]: entry["parentId"] for entry in conversation.entries} == parents
        assert ids(conversation.active_path()) == path(leaf)
        assert conversation.labels == labels
        assert conversation.header["repoHash"] == project
        assert conversation.warnings == []
        assert all(ids(conversation.path_to(id)) == path(id) for id in parents)
    conversation.close()
    for one, before in [*left, (conversation, state(conversation))]:
        assert state(Conversation.open(store, one.id)) == before  # what was copied is untouched


def test_a_fork_has_everything_but_what_is_queued(store: Locations, new: New) -> None:
    source = new()
    asked = source.append("message", message=user("first"))
    source.append("review", kind="write", status="pending")
    source.resolve_pending()
    source.annotate("title_changed", title="Mine", titleSource="user")
    source.annotate("label", targetId=asked["id"], label="here")
    source.annotate("archived", archived=True)
    source.annotate("queue_changed", words=[{"id": "1", "kind": "steer", "mode": "ask", "text": "later"}])
    source.move_leaf(asked["id"], "rewind")
    id, whole = copying.fork(source, store)
    copy = Conversation.open(store, id)
    assert whole
    assert copy.header["parentSession"] == {"id": source.id, "relation": "fork"}
    assert (copy.header["id"], copy.header["repoRoot"]) == (id, source.header["repoRoot"])
    assert copy.entries == source.entries
    assert (copy.title, copy.title_source, copy.labels) == ("Mine", "user", {asked["id"]: "here"})
    assert (copy.leaf, copy.archived, copy.queue) == (asked["id"], False, [])
    assert (source.archived, len(source.queue)) == (True, 1)
    assert copy.append("message", message=user("next"))["parentId"] == asked["id"]
    copy.close()
    source.close()


def test_a_fork_for_another_project_belongs_to_that_one(store: Locations, new: New, tmp_path: Path) -> None:
    source = new()
    source.append("message", message=user())
    other = tmp_path / "other"
    other.mkdir()
    id, _ = copying.fork(source, store, Place(other, "1" * 16))
    copy = Conversation.open(store, id)
    place = {"repoRoot": str(other), "repoHash": "1" * 16, "cwd": str(other), "rootInode": other.stat().st_ino}
    assert {key: copy.header[key] for key in place} == place
    assert (copy.entries, source.header["repoHash"]) == (source.entries, "0" * 16)
    assert [row.id for row in list_conversations(store, repo_hash="1" * 16)] == [id]
    assert [row.id for row in list_conversations(store, repo_hash="0" * 16)] == [source.id]
    source.close()


def test_a_branch_has_the_way_to_the_entry_with_its_labels(store: Locations, new: New) -> None:
    source = new()
    first = source.append("message", message=user("first"))
    second = source.append("message", message=user("second"))
    source.append("custom")
    for one in (first, second):
        source.annotate("label", targetId=one["id"], label=one["id"])
    copy = Conversation.open(store, copying.branch(source, store, second["id"])[0])
    parent = {"id": source.id, "entryId": second["id"], "relation": "branch"}
    assert copy.header["parentSession"] == parent
    assert (ids(copy.entries), copy.labels) == ([first["id"]], {first["id"]: first["id"]})
    assert len(source.entries) == 3
    empty = Conversation.open(store, copying.branch(source, store, first["id"])[0])
    assert (empty.entries, empty.warnings, empty.read_only_reason) == ([], [], None)
    with pytest.raises(ValueError, match="there is no entry 'lost'"):
        copying.branch(source, store, "lost")
    source.close()


def test_full_outputs_are_copied_and_outlive_the_original(
    store: Locations, new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = new()
    source.append("message", message=user())
    source.folder.mkdir()
    (source.folder / "1.shell_run.log").write_text("all of it")
    (source.folder / "staging").mkdir()
    (source.folder / "link").symlink_to("/etc/passwd")
    id, whole = copying.fork(source, store)
    (source.folder / "1.shell_run.log").unlink()
    assert whole
    assert [path.name for path in (store.conversations / id).iterdir()] == ["1.shell_run.log"]
    assert (store.conversations / id / "1.shell_run.log").read_text() == "all of it"

    def refuse(*_: object) -> None:
        raise PermissionError

    (source.folder / "2.shell_run.log").write_text("more")
    monkeypatch.setattr(os, "link", refuse)
    other, whole = copying.fork(source, store)
    assert whole
    assert (store.conversations / other / "2.shell_run.log").read_text() == "more"
    assert (store.conversations / other / "2.shell_run.log").stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr("shutil.copyfileobj", refuse)
    without, whole = copying.fork(source, store)
    assert not whole
    assert Conversation.open(store, without).entries == source.entries
    artifacts = Artifacts(store.conversations / without)
    assert "not copied" in artifacts.read(2)
    assert artifacts.add("shell_run", "its own") == 3
    source.close()


def test_a_fork_has_a_plan_of_its_own(store: Locations, new: New) -> None:
    source = new()
    source.append("message", message=user())
    source.folder.mkdir()
    plan = source.folder / "plan.md"
    plan.write_text("first")
    id, _ = copying.fork(source, store)
    plan.write_text("changed in place, as editors do")
    assert (store.conversations / id / "plan.md").read_text() == "first"
    source.close()


@pytest.mark.parametrize("how", ["fork", "branch"])
def test_the_logs_of_agents_are_copied_and_nothing_else_of_their_folder(store: Locations, new: New, how: str) -> None:
    source = new()
    asked = source.append("message", message=user())
    agents = source.folder / "agents"
    agents.mkdir(parents=True)
    (agents / "0-task.jsonl").write_text("{}\n")
    for other in ("0-task.lock", "0-task.jsonl.partial"):
        (agents / other).write_text("x")
    (agents / "link.jsonl").symlink_to("/etc/passwd")
    id, whole = copying.fork(source, store) if how == "fork" else copying.branch(source, store, asked["id"])
    copied = store.conversations / id / "agents"
    assert whole
    assert [path.name for path in copied.iterdir()] == ["0-task.jsonl"]
    with (agents / "0-task.jsonl").open("a") as log:
        log.write("{}\n")
    assert (copied / "0-task.jsonl").read_text() == "{}\n"
    source.close()


def test_what_cannot_be_read_or_saved_is_not_copied(store: Locations, new: New) -> None:
    source = new()
    source.append("message", message=user())
    source.close()
    lines = source.path.read_text().splitlines()
    newer = json.dumps(json.loads(lines[0]) | {"version": 99})
    source.path.write_text(f"{newer}\n{lines[1]}\n")
    with pytest.raises(NotCopied, match="cannot be copied: a newer North wrote it"):
        copying.fork(Conversation.open(store, source.id), store)
    assert list(store.conversations.glob("*.jsonl")) == [source.path]


def test_a_copy_of_an_old_log_is_one_of_todays(store: Locations) -> None:
    store.conversations.mkdir(parents=True)
    old = [
        {"type": "session", "version": 3, "id": "old", "timestamp": "t", "cwd": "/p"},
        {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "hello"}},
        {"type": "label", "id": "2", "parentId": "1", "targetId": "1", "label": "here"},
    ]
    (store.conversations / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old))
    source = Conversation.open(store, "old")
    copy = Conversation.open(store, copying.fork(source, store)[0])
    assert (copy.entries, copy.labels) == (source.entries, {"1": "here"})
    assert "formerFormat" not in copy.header


def test_the_leaf_moves_to_entries_only_and_the_move_is_recorded(store: Locations, new: New) -> None:
    conversation = new()
    first = conversation.append("message", message=user("first"))
    conversation.append("custom")
    note = conversation.annotate("label", targetId=first["id"], label="here")
    for unknown in ("lost", note["id"]):
        with pytest.raises(ValueError, match="there is no entry"):
            conversation.move_leaf(unknown, "rewind")
    conversation.move_leaf(first["id"], "rewind")
    conversation.close()
    assert json.loads(conversation.path.read_text().splitlines()[-1])["leafId"] == first["id"]
    assert Conversation.open(store, conversation.id).leaf == first["id"]


def test_a_copy_gets_a_free_id(store: Locations, new: New, tmp_path: Path) -> None:
    source = new()
    source.append("message", message=user())
    made = {copying.fork(source, store)[0] for _ in range(5)}
    assert len(made | {source.id}) == 6
    source.close()
