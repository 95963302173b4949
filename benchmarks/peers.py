"""Other agents' times with stored conversations. One of them, pi, has its lists in a library, and is asked for them on
the same conversations. Of the others no measurements were found: what is printed are reports of their users, each of
another machine and another amount of conversations, so they say how long people have had to wait and not which program
is faster."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PI = Path("node_modules/@mariozechner/pi-coding-agent")
_ASK_PI = """
const { SessionManager } = await import(process.argv[1]);
const words = ["parab", "tokeb"];
async function measured(name, action) {
  const times = [], busy = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now(), used = process.cpuUsage();
    await action();
    const { user, system } = process.cpuUsage(used);
    times.push(performance.now() - start);
    busy.push((user + system) / 1000);
  }
  times.sort((a, b) => a - b);
  const figures = [times[2], Math.min(...busy)].map((one) => one.toFixed(1).padStart(9));
  console.log(`${name.padEnd(58)} ${figures[0]} ms ${figures[1]} ms of processor time`);
}
await measured("list of one project", () => SessionManager.list(process.argv[3], process.argv[2]));
await measured("list of all projects", () => SessionManager.listAll());
await measured(`search for '${words.join(" ")}': the list, then the texts in it`, async () => {
  const all = await SessionManager.listAll();
  return all.filter((one) => words.every((word) => one.allMessagesText.includes(word)));
});
console.log(`${"the most memory".padEnd(58)} ${(process.resourceUsage().maxRSS / 1024).toFixed(1).padStart(9)} MB`);
"""


@dataclass(frozen=True)
class Report:
    """One report; `amount` is what was stored."""

    what: str
    agent: str
    time: str
    amount: str
    source: str


REPORTS = (
    Report("list", "Codex CLI 0.122.0", "20 s", "3,067 files, 6.3 GB", "github.com/openai/codex/issues/18839"),
    Report("open one", "Codex CLI 0.122.0", "10 s", "the same", "github.com/openai/codex/issues/18839"),
    Report(
        "list", "Codex CLI before 0.124.0", "2-3 s", "up to 848 files, 3.4 GB", "github.com/openai/codex/issues/19483"
    ),
    Report("list", "Codex CLI 0.124.0", "8-60 s", "the same", "github.com/openai/codex/issues/19483"),
    Report(
        "open one",
        "Claude Code",
        "14 s",
        "14 messages, in a file of 103 MB",
        "github.com/anthropics/claude-code/issues/23375",
    ),
    Report(
        "list",
        "Gemini CLI on Windows",
        "10-15 s",
        "10 to 30 conversations",
        "github.com/google-gemini/gemini-cli/pull/26487",
    ),
    Report("list", "OpenCode 1.0.200", "2-3 s", "some 30 conversations", "github.com/anomalyco/opencode/issues/6195"),
    Report("open one", "OpenCode 1.0.200", "3-4 s", "the same", "github.com/anomalyco/opencode/issues/6195"),
)
UNREPORTED = "search in what was said; making an index anew; memory"


def measure_pi(conversations: Path, installed: Path) -> None:
    """Print pi's times for the same conversations, in its own form, where it is installed."""
    node, package = shutil.which("node"), (installed / _PI).resolve()
    if node is None or not package.is_dir():
        print(f"\npi is not measured: there is no Node.js, or no {package}")
        return
    version = json.loads((package / "package.json").read_text())["version"]
    with tempfile.TemporaryDirectory() as name:
        project = ""
        for log in sorted(conversations.glob("*.jsonl")):
            header, *lines = map(json.loads, log.read_text().splitlines())
            project = project or header["cwd"]
            folder = Path(name, "sessions", f"--{header['cwd'].strip('/').replace('/', '-')}--")
            folder.mkdir(parents=True, exist_ok=True)
            rows = [{"type": "session", "version": 3, "id": log.stem, "timestamp": header["timestamp"]}]
            rows[0]["cwd"] = header["cwd"]
            rows += _with_parents(lines, header["timestamp"])
            (folder / f"{log.stem}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        first = Path(name, "sessions", f"--{project.strip('/').replace('/', '-')}--")
        print(f"\npi {version}, on the same conversations in its own form, in the same units:", flush=True)
        module = package / "dist/core/session-manager.js"
        subprocess.run(
            [node, "--input-type=module", "--eval", _ASK_PI, module.as_uri(), first, project],
            env={"HOME": name, "PI_CODING_AGENT_DIR": name},
            check=True,
        )


def _with_parents(lines: list[dict[str, object]], at: str) -> Iterator[dict[str, object]]:
    parent: object = None
    for line in lines:
        if line["type"] == "message":
            yield {**line, "parentId": parent, "timestamp": at}
            parent = line["id"]


def print_reports() -> None:
    print("\nFurther agents, by reports of their users (other machines, other amounts; no measurements were found):")
    for one in REPORTS:
        print(f"{one.what:<10} {one.agent:<26} {one.time:<8} {one.amount:<34} {one.source}")
    print(f"Nothing was found about: {UNREPORTED}.")
