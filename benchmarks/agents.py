"""Measures North and other agents that speak ACP, each as its users start it, against one model server on this machine
that answers at once: from spawn to the answers to `initialize` and `session/new` and to the first text, each asked for
at once; memory of all its processes then.

    python -m benchmarks.agents [FOLDER]

FOLDER is where `npm install @zed-industries/codex-acp @agentclientprotocol/claude-agent-acp @google/gemini-cli` was
run; what is not there is left out. They can be compared here because they take the address of a model server."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROUNDS = 7
_SECONDS = 60.0
_TEXT = "Hello there."


@dataclass(frozen=True)
class Agent:
    """How one is started: `program` below node_modules/.bin, or North's; `files` are written into its home. In values,
    URL is the model server's address and HOME the home folder."""

    title: str
    program: str
    arguments: tuple[str, ...]
    environ: Mapping[str, str]
    files: Mapping[str, str]


_ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant-benchmark", "ANTHROPIC_BASE_URL": "URL"}
_CODEX = """model = "gpt-5.1"
model_provider = "here"
[model_providers.here]
name = "here"
base_url = "URL/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""
_GEMINI = json.dumps(
    {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
)
AGENTS = (
    Agent("North, Anthropic", "", (), _ANTHROPIC | {"NORTH_NO_TITLE": "1", "NORTH_DISCOVERY": "off"}, {}),
    Agent("North, OpenAI", "", (), {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "URL/v1", "NORTH_NO_TITLE": "1"}, {}),
    Agent("claude-agent-acp", "claude-agent-acp", (), _ANTHROPIC | {"DISABLE_AUTOUPDATER": "1"}, {}),
    Agent("codex-acp", "codex-acp", (), {"OPENAI_API_KEY": "sk-benchmark"}, {".codex/config.toml": _CODEX}),
    Agent(
        "gemini --acp",
        "gemini",
        ("--acp", "--model", "gemini-2.5-flash"),
        {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "URL"},
        {".gemini/settings.json": _GEMINI},
    ),
)


# -- the model server --------------------------------------------------------------------------------------------------


class _Answers(BaseHTTPRequestHandler):
    """Answers every request of the three vendors' APIs with the same short text."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(b'{"data": [], "models": []}', "application/json")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path.split("?")[0].endswith("/count_tokens"):
            self._send(b'{"input_tokens": 10}', "application/json")
        elif "generateContent" in self.path:
            self._send(json.dumps(_google()).encode(), "application/json")
        elif "messages" in self.path and not asked.get("stream"):
            self._send(json.dumps(_anthropic_message([{"type": "text", "text": _TEXT}])).encode(), "application/json")
        else:
            events = _google_stream() if "Generate" in self.path else _anthropic() if "messages" in self.path else None
            self._send("".join(_openai() if events is None else events).encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _event(data: dict[str, Any]) -> str:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


def _anthropic_message(content: list[Any]) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 3}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": content,
        "stop_reason": "end_turn" if content else None,
        "stop_sequence": None,
        "usage": usage,
    }


def _anthropic() -> Iterator[str]:
    yield _event({"type": "message_start", "message": _anthropic_message([])})
    yield _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    yield _event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _TEXT}})
    yield _event({"type": "content_block_stop", "index": 0})
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 3}})
    yield _event({"type": "message_stop"})


def _openai() -> Iterator[str]:
    usage: dict[str, Any] = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.1", "status": "in_progress"}
    part = {"type": "output_text", "text": _TEXT, "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    here = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    rest = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response | rest | {"output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        {"type": "response.content_part.added", **here, "part": part | {"text": ""}},
        {"type": "response.output_text.delta", **here, "delta": _TEXT, "logprobs": []},
        {"type": "response.output_text.done", **here, "text": _TEXT, "logprobs": []},
        {"type": "response.content_part.done", **here, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": response | rest | {"status": "completed", "output": [item], "usage": usage},
        },
    ]
    for number, event in enumerate(events):
        yield _event(event | {"sequence_number": number})


def _google() -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": _TEXT}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def _google_stream() -> Iterator[str]:
    yield f"data: {json.dumps(_google())}\n\n"


@contextmanager
def model_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


# -- one agent ---------------------------------------------------------------------------------------------------------


class _Run:
    """One process, asked as an editor asks that shows and writes files."""

    def __init__(self, command: list[str], environ: dict[str, str], folder: Path) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            cwd=folder,
            start_new_session=True,
        )
        self._id = 0
        self.first_text: float | None = None
        self._limit = threading.Timer(_SECONDS, self.process.kill)
        self._limit.start()

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._id += 1
        self._write({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        for line in self.process.stdout:
            with suppress(ValueError):
                message = json.loads(line)
                update = message.get("params", {}).get("update", {})
                said = update.get("sessionUpdate") == "agent_message_chunk" and update["content"].get("text")
                if self.first_text is None and said and _TEXT.startswith(said[:5]):  # not a notice of its own
                    self.first_text = self.elapsed()
                if "method" in message and "id" in message:
                    refused = {"code": -32601, "message": "not offered"}
                    self._write({"jsonrpc": "2.0", "id": message["id"], "error": refused})
                elif message.get("id") == self._id:
                    if "error" in message:
                        raise RuntimeError(f"{method}: {message['error']}")
                    return dict(message["result"])
        raise RuntimeError(f"{method}: it ended, or took over {_SECONDS:g} s")

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def elapsed(self) -> float:
        return (time.perf_counter() - self.started) * 1000

    def memory(self) -> float:
        """Return the proportional set size of all its processes, in MB."""
        return sum(map(_pss, _tree(self.process.pid))) / 1024

    def stop(self) -> None:
        self._limit.cancel()
        for pid in reversed(_tree(self.process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.process.wait()


def _tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(child) for child in task.read_text().split()]
    return found


def _pss(pid: int) -> int:
    with suppress(OSError, StopIteration):
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return int(next(row for row in rows if row.startswith("Pss:")).split()[1])
    return 0


def measure(agent: Agent, command: list[str], url: str) -> dict[str, float]:
    """Return what one start took. Raises RuntimeError."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        home, project = Path(name, "home"), Path(name, "project")
        project.mkdir()
        (project / "a.py").write_text("def greet():\n    return 1\n")
        for path, text in agent.files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(text.replace("URL", url))
        home.mkdir(exist_ok=True)
        keep = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "TERM", "TMPDIR")}
        given = {key: value.replace("URL", url) for key, value in agent.environ.items()}
        run = _Run(command, keep | {"HOME": str(home)} | given, project)
        try:
            files = {"fs": {"readTextFile": False, "writeTextFile": False}}
            run.call("initialize", {"protocolVersion": 1, "clientCapabilities": files})
            rows = {"initialize": run.elapsed()}
            session = run.call("session/new", {"cwd": str(project), "mcpServers": []})["sessionId"]
            rows["session/new"] = run.elapsed()
            blocks = [{"type": "text", "text": "Say hello."}]
            run.call("session/prompt", {"sessionId": session, "prompt": blocks})
            if run.first_text is None:
                raise RuntimeError("session/prompt: no text came")
            rows["first text"] = run.first_text
            rows["memory, MB"] = run.memory()
            return rows
        finally:
            run.stop()


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    north = [str(Path(sys.executable).with_name("north-lsp")), "acp"]
    print(f"{'median of ' + str(ROUNDS) + ', ms since spawn':<34}{'initialize':>12}{'session/new':>13}", end="")
    print(f"{'first text':>12}{'memory, MB':>12}")
    with model_server() as url:
        for agent in AGENTS:
            program = shutil.which(agent.program, path=folder / "node_modules/.bin") if folder and agent.program else ""
            if agent.program and not program:
                continue
            command = [program, *agent.arguments] if program else north
            try:
                measure(agent, command, url)  # what is compiled or cached at the first start
                rounds = [measure(agent, command, url) for _ in range(ROUNDS)]
            except RuntimeError as error:
                print(f"{agent.title:<34}{str(error)[:90]}")
                continue
            cells = [statistics.median(row[name] for row in rounds) for name in rounds[0]]
            print(f"{agent.title:<34}{cells[0]:>12.0f}{cells[1]:>13.0f}{cells[2]:>12.0f}{cells[3]:>12.0f}", flush=True)


if __name__ == "__main__":
    main()
