"""The command line: mistakes are one line and exit code 2; nothing heavy is loaded before the first answer."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.generated_files import SCHEMA
from tests.support.patience import PATIENCE

HEAVY = {
    "anthropic",
    "anyio",
    "asyncio",
    "httpx2",
    "lsprotocol",
    "openai",
    "pathspec",
    "pydantic",
    "pydantic_core",
    "pygls",
    "rapidfuzz",
    "ssl",
    "tree_sitter",
}


COLD = (sys.executable, "-m", "north_lsp")


def run(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    environ: dict[str, str] | None = None,
    program: Sequence[str] = COLD,
) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("NORTH_", "ANTHROPIC_", "OPENAI_"))
    }
    folders = {f"NORTH_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    command = [*program, *arguments]
    done = subprocess.run(
        command, input=stdin, capture_output=True, env=kept | folders | (environ or {}), cwd=folder, timeout=PATIENCE
    )
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize(
    ("arguments", "environ", "says"),
    [
        (["acp", "--wrong"], {}, "--help"),
        (["nonsense"], {}, "--help"),
        ([], {}, "--help"),
        (["acp", "--mode", "yolo"], {}, "ask"),
        (["demo", "--model", "gpt-17"], {}, "closest"),
        (["demo", "--model", "sonnet-4-5"], {}, "ANTHROPIC_API_KEY"),
        (["doctr"], {}, "did you mean doctor?"),
        (["--path", "lsp", "mod"], {}, "did you mean models?"),
        (["--model", "sonnet-4-5", "models"], {}, "models takes no --model"),
        (["demo", "--wrong"], {}, "see north-lsp demo --help"),
        (["lsp", "--stdio", "--tcp", "127.0.0.1:0"], {}, "not allowed with"),
        (["login"], {}, "north-lsp login anthropic < keyfile"),
        (["conversations", "export"], {}, "export takes ID [FILE]"),
        (["help", "nonsense"], {}, "north-lsp help lists them"),
        (["acp", "--path", "missing"], {}, "missing"),
        (["lsp", "--tcp", "0.0.0.0:5000"], {}, "loopback"),
        (["lsp", "--tcp", "5000"], {}, "HOST:PORT"),
        (["acp"], {"NORTH_DATA_DIR": "relative"}, "NORTH_DATA_DIR"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    tmp_path: Path, arguments: list[str], environ: dict[str, str], says: str
) -> None:
    done = run(tmp_path, *arguments, environ=environ)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


@pytest.mark.parametrize("protocol", ["acp", "lsp"])
def test_nothing_heavy_is_imported_before_the_answer_to_initialize(tmp_path: Path, protocol: str) -> None:
    script = f"""
import sys
import north_lsp.cli.main as cli
arguments = cli._parser().parse_args(["{protocol}"])
cli._options(arguments)
from north_lsp.server.opening import open_connection
opening = open_connection("{protocol}", {{}})
params = {{"protocolVersion": 1, "capabilities": {{}}, "initializationOptions": {{"north": {{"acp": True}}}}}}
message = {{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}}
answer = b"".join(opening.feed(opening.framing.encode(message)))
assert opening.done and b"result" in answer
print(" ".join(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert not HEAVY & {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("protocol", ["acp", "lsp"])
def test_the_collector_rests_while_the_server_starts_and_works_from_then_on(tmp_path: Path, protocol: str) -> None:
    script = f"""
import gc, os, sys
from north_lsp.server import connection
print("before", gc.isenabled(), file=sys.stderr)
run, end = connection.run_stdio, os._exit
def starting(*arguments):
    print("starting", gc.isenabled(), file=sys.stderr)
    return run(*arguments)
def ending(code):
    print("ending", gc.isenabled(), gc.get_freeze_count() > 10_000, file=sys.stderr, flush=True)
    end(code)
connection.run_stdio, os._exit = starting, ending
from north_lsp.cli.main import main
main(["{protocol}"])
"""
    params = {"protocolVersion": 1, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    framed = body + b"\n" if protocol == "acp" else b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    folders = {f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    done = subprocess.run(
        [sys.executable, "-c", script], input=framed, capture_output=True, env=os.environ | folders, cwd=tmp_path
    )
    assert done.stderr.decode().split("\n") == ["before True", "starting False", "ending True True", ""]


@pytest.mark.parametrize("protocol", ["acp", "lsp"])
def test_the_end_of_input_before_initialize_is_a_quiet_exit(tmp_path: Path, protocol: str) -> None:
    done = run(tmp_path, protocol)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_input_after_initialize_is_a_quiet_exit(tmp_path: Path) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    done = run(tmp_path, "acp", stdin=json.dumps(message).encode() + b"\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["result"]["protocolVersion"] == 1


def test_doctor_says_what_is_missing_and_prints_no_secret(tmp_path: Path) -> None:
    done = run(tmp_path, "doctor")
    assert done.returncode == 0
    assert "set ANTHROPIC_API_KEY" in done.stdout
    done = run(
        tmp_path, "doctor", environ={"ANTHROPIC_API_KEY": "very-secret", "NORTH_TYPO": "1", "NORTH_NO_NETWORK": "1"}
    )
    assert "very-secret" not in done.stdout + done.stderr
    assert "NORTH_TYPO" in done.stdout
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.json").write_text("{broken")
    done = run(tmp_path, "doctor")
    assert done.returncode == 1
    assert "config.json" in done.stdout


def test_the_schema_of_the_settings_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, "schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == SCHEMA.read_text("utf-8")


def test_conversations_of_a_project_without_any(tmp_path: Path) -> None:
    for command in ("conversations", "list"):
        done = run(tmp_path, command)
        assert done.returncode == 0
        assert "No conversations" in done.stdout


def test_logs_are_imported(tmp_path: Path) -> None:
    log = Path(__file__).parents[1] / "storage" / "logs" / "session-3.jsonl"
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text(log.read_text() + "{\n" * 30)
    done = run(tmp_path, "import", str(log), str(damaged), "missing.jsonl")
    assert done.returncode == 1
    (row,) = done.stdout.splitlines()
    assert row.endswith("2 messages  rename it")
    assert "lines cannot be read, from line 9 on; --salvage copies what can be read" in done.stderr
    assert "file not found: missing.jsonl" in done.stderr
    done = run(tmp_path, "import", "--salvage", str(damaged))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("rename it, 30 lines could not be read\n")
    assert len(run(tmp_path, "conversations").stdout.splitlines()) == 2


def test_what_fails_inside_is_one_line_and_a_report(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import north_lsp.cli.conversations as it\n"
        "def fail(*_):\n    raise RuntimeError('OPENAI_API_KEY=abcdefgh')\n"
        "it.conversations = fail\n"
    )
    done = run(tmp_path, "conversations", environ={"PYTHONPATH": str(tmp_path)})
    (report,) = (tmp_path / "state" / "crash").iterdir()
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr == f"north-lsp: something failed inside North (RuntimeError); the details are in {report}\n"
    assert "OPENAI_API_KEY=[masked]" in report.read_text()
    assert "in fail" in report.read_text()


def test_without_network_nothing_leaves_the_machine(tmp_path: Path) -> None:
    program = """
import socket, sys
from north_lsp.cli.main import main
main(["conversations"])
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname()).close()
socket.getaddrinfo("localhost", 80)
for work in (
    lambda: socket.create_connection(("192.0.2.1", 80), 1),
    lambda: socket.getaddrinfo("example.com", 80),
    lambda: socket.socket(socket.AF_INET6).connect(("2001:db8::1", 80)),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 80)),
):
    try:
        work()
    except OSError as error:
        print(error, file=sys.stderr)
"""
    script = tmp_path / "program.py"
    script.write_text(program)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NORTH_")}
    folders = {f"NORTH_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    repository = str(Path(__file__).parents[2])
    environ = kept | folders | {"NORTH_NO_NETWORK": "1", "PYTHONPATH": repository}
    done = subprocess.run([sys.executable, script], capture_output=True, env=environ, timeout=PATIENCE, check=False)
    said = done.stderr.decode().splitlines()
    assert said == [
        f"NORTH_NO_NETWORK is set: there is no connection to {host}"
        for host in ("192.0.2.1", "example.com", "2001:db8::1", "192.0.2.1")
    ]


def test_the_demonstration_runs_unattended(tmp_path: Path) -> None:
    done = run(tmp_path, "demo", "--yes", environ={"NORTH_OFFLINE_DELAY_MS": "0"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--yes" in done.stdout
    assert "+" in done.stdout
    assert "end_turn" in done.stdout


def test_the_demonstration_works_on_a_copy(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("# A project of mine\n\nWith a line of text.\n")
    done = run(tmp_path, "demo", "--yes", "--path", "project")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seen by North" in done.stdout
    assert (project / "README.md").read_text() == "# A project of mine\n\nWith a line of text.\n"
