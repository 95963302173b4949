"""What is published of other agents' times with stored conversations. No measurements of theirs were found: these are
reports of their users, each of another machine and another amount of conversations, so they say how long people have
had to wait and not which program is faster."""

from dataclasses import dataclass


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


def print_reports() -> None:
    print("\nOther agents, by reports of their users (other machines, other amounts; no measurements were found):")
    for one in REPORTS:
        print(f"{one.what:<10} {one.agent:<26} {one.time:<8} {one.amount:<34} {one.source}")
    print(f"Nothing was found about: {UNREPORTED}.")
