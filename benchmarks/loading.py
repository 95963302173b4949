"""Measures loading a long conversation: the time from `session/load` to the first update of the replay and to the
answer, by the clock and in processor time, and the memory before and after. With `--branches`, somebody has gone back
in it, and its snapshot is there."""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.startup import Server
from north_lsp.storage.log_snapshot import keep_snapshot
from north_lsp.workspace.project_root import project_hash

ENTRIES = 10_000
ROUNDS = 5
AIM_MS = 100
ID = "a1b2c3"
_TIME = "2026-01-02T03:04:05.678Z"
_WORDS = (
    "the file",
    "is read",
    "and then changed",
    "so that a value",
    "which was computed",
    "before",
    "is kept",
    "later",
)


def write_log(path: Path, project: Path, count: int) -> None:
    """Write a conversation of so many entries: turns of reading, searching, editing with a review, and answering."""
    header = {"type": "conversation_started", "version": 4, "id": ID, "timestamp": _TIME, "repoRoot": str(project)}
    header |= {"repoHash": project_hash(project), "cwd": str(project), "model": "offline", "northVersion": "0.1.0"}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        parent, written = None, 0
        for line in chain([header], _lines(project, random.Random(1))):
            if line is not header and line["type"] != "entry_updated":
                if written == count:
                    break
                written += 1
                line["parentId"], parent = parent, line["id"]
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def _lines(project: Path, chance: random.Random) -> Iterator[dict[str, Any]]:
    number = 0

    def entry(type: str, **fields: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        place = {} if type == "entry_updated" else {"parentId": None}  # filled in when it is written
        return {"type": type, "id": f"{number:08x}", **place, "timestamp": _TIME, **fields}

    def message(**fields: Any) -> dict[str, Any]:
        return entry("message", message={"timestamp": 1_767_323_045_678, **fields})

    def said(words: int) -> str:
        return " ".join(chance.choice(_WORDS) for _ in range(words))

    def answer(*content: dict[str, Any]) -> dict[str, Any]:
        usage = {"input": 1200, "output": 80, "cacheRead": 9000, "cacheWrite": 300, "cost": {"total": 0.01}}
        made = {"role": "assistant", "provider": "offline", "model": "offline", "content": list(content)}
        return message(**made, stopReason="toolUse", usage=usage, durationMs=1500)

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return {"type": "tool_call", "id": f"call_{number}", "name": name, "arguments": arguments}

    def result(call: dict[str, Any], text: str, **details: Any) -> dict[str, Any]:
        shown = {"title": f"{call['name']} of a file", "text": text[:200], "ok": True, **details}
        named = {"role": "toolResult", "toolCallId": call["id"], "toolName": call["name"]}
        return message(**named, content=[{"type": "text", "text": text}], details=shown, isError=False)

    while True:
        yield message(role="user", content=[{"type": "text", "text": said(30)}], attribution="user")
        read = call("read_file", path="a.py")
        yield answer({"type": "thinking", "thinking": said(60)}, {"type": "text", "text": said(40)}, read)
        yield result(read, "\n".join(said(12) for _ in range(60)), seen=[[str(project / "a.py"), "tag", [[1, 60]]]])
        edit = call("edit_replace_exact", path="a.py", old="x = 1", new="x = 2")
        yield answer({"type": "text", "text": said(20)}, edit)
        old = "".join(f"x_{line} = {said(5)}\n" for line in range(80))
        new = old.replace("x_40 =", "y_40 =").replace("x_41 =", "y_41 =")
        file = {"path": str(project / "a.py"), "relative": "a.py", "action": "update", "oldText": old, "newText": new}
        asked = {"reviewId": f"review_{number}", "kind": "write", "toolCallId": edit["id"]}
        review = entry("review", **asked, request={"title": "Editing a.py", "files": [file]}, status="pending")
        yield review
        decided = {"status": "accept", "decision": {"kind": "accept"}}
        yield entry("entry_updated", targetId=review["id"], patch=decided)
        rows = [file | {"before": "blob:sha256:" + "0" * 64, "after": "1" * 64}]
        kept = {key: value for key, value in rows[0].items() if key not in ("oldText", "newText")}
        yield entry("checkpoint", checkpointId=f"{number:08x}", title="Edit", files=[kept], status="applied")
        yield result(edit, "changed a.py", changed=True)
        yield answer({"type": "text", "text": "\n\n".join(said(40) for _ in range(4))})


class _Client(Server):
    """A server that loads a conversation; `first` is when the first update came, `used` its processor time then."""

    def __init__(self, folder: Path) -> None:
        super().__init__("acp", folder, {"NORTH_MODEL": "offline"})
        self.updates, self.first, self.used = 0, 0.0, 0.0
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {"_meta": {"north": {"hunks": True}}}})

    def read(self) -> dict[str, Any]:
        message = super().read()
        if message.get("method") == "session/update":
            if message["params"]["update"]["sessionUpdate"] == "user_message_chunk":
                self.first, self.used = self.first or time.perf_counter(), self.used or self.processor_time()
            self.updates += 1
        return message


def go_back(log: Path) -> None:
    """Go back to the middle of a conversation, and keep a snapshot of it, as after a turn."""
    lines = log.read_text().splitlines(keepends=True)
    leaf = next(json.loads(line)["id"] for line in lines[len(lines) // 2 :] if '"parentId"' in line)
    moved = {"type": "leaf_moved", "id": "ffffffff", "timestamp": _TIME, "leafId": leaf, "reason": "rewind"}
    log.write_text("".join([*lines, json.dumps(moved, separators=(",", ":")) + "\n"]))
    keep_snapshot(log)


def measure(folder: Path, project: Path) -> dict[str, float]:
    server = _Client(folder)
    try:
        # What every session needs once, the tools above all, is loaded by now, as where a chat is open.
        server.call("session/new", {"cwd": str(project), "mcpServers": []})
        server.call("session/list", {})
        before, used, began = server.memory(), server.processor_time(), time.perf_counter()
        server.updates, server.first, server.used = 0, 0.0, 0.0
        server.call("session/load", {"sessionId": ID, "cwd": str(project), "mcpServers": []})
        ended, after, updates = time.perf_counter(), server.memory(), server.updates
        server.call("session/load", {"sessionId": ID, "cwd": str(project), "mcpServers": []})
        return {
            "first update, ms": (server.first - began) * 1000,
            "of processor time": server.used - used,
            "answer, ms": (ended - began) * 1000,
            "updates": updates,
            "memory before, MB": before,
            "memory after, MB": after,
            "memory after 2, MB": server.memory(),
        }
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--branches", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, project = Path(name).resolve(), Path(name).resolve() / "project"
        project.mkdir()
        log = folder / "data" / "conversations" / f"{ID}.jsonl"
        write_log(log, project, options.entries)
        if options.branches:
            go_back(log)
        print(f"{options.entries:,} entries, {log.stat().st_size / 1e6:.1f} MB; aim: the first update in {AIM_MS} ms")
        rounds = [measure(folder, project) for _ in range(options.rounds)]
        print(f"{'':<24}{'min':>10}{'median':>10}{'max':>10}")
        for row in rounds[0]:
            values = [one[row] for one in rounds]
            print(f"{row:<24}{min(values):>10.1f}{statistics.median(values):>10.1f}{max(values):>10.1f}")


if __name__ == "__main__":
    main()
