"""What a bundle for a report has: everything that helps, nothing that is secret."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from north_lsp import __version__
from north_lsp.cli.bundle import write_bundle
from north_lsp.cli.finding import Finding
from north_lsp.cli.problem_report import problem_report
from north_lsp.server.options import Options
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.locations import Locations
from tests.end_to_end.test_work_trees import first_commit

STORED = "a-key-that-looks-like-nothing"
SIGNED_IN = "what-a-sign-in-gave"
OWN = "another-one-of-my-own"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    folders = {f"NORTH_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    options = Options(folders | {"ACME_API_KEY": OWN}, tmp_path, None, None, None)
    store = Locations.from_environment(options.environ)
    CredentialStore(store).add("openai", STORED)
    CredentialStore(store).keep_sign_in("mcp:1", "MCP server a", json.dumps({"access": SIGNED_IN, "refresh": ""}))
    store.config.mkdir()
    (store.config / "config.json").write_text('{"log": {"level": "debug"}, "apiKey": "in-the-settings"}')
    (store.config / "models.yml").write_text(f"providers:\n  mine:\n    apiKey: in-the-models\n    note: {STORED}\n")
    (store.config / "secrets.yml").write_text("all of them")
    log = DiagnosticsLog(store)
    log.event("info", "app_start", note=OWN, said=f"{SIGNED_IN} is no good")
    log.report_crash("it broke")
    log.close()
    store.conversations.mkdir()
    (store.conversations / "a1b2c3.jsonl").write_text(f'{{"text": "{STORED} and more"}}\n')
    return options


def bundle(options: Options, tmp_path: Path, conversation: str | None = None, says: str = "") -> tuple[int, list[str]]:
    told: list[str] = []
    target = str(tmp_path / "report.zip")
    code = write_bundle(options, target, conversation, "ok  all well", lambda _: says, told.append, told.append)
    return code, told


def contents(tmp_path: Path) -> dict[str, str]:
    with zipfile.ZipFile(tmp_path / "report.zip") as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def test_it_has_what_helps_and_no_secret(options: Options, tmp_path: Path) -> None:
    code, told = bundle(options, tmp_path)
    assert code == 0
    found = contents(tmp_path)
    (crash,) = (name for name in found if name.startswith("crash/"))
    assert set(found) == {"doctor.txt", "versions.txt", "config/config.json", "config/models.yml", "north.log", crash}
    everything = "".join(found.values())
    for secret in (STORED, SIGNED_IN, OWN, "in-the-settings", "in-the-models", "all of them"):
        assert secret not in everything
    assert '"level": "debug"' in found["config/config.json"]
    assert "app_start" in found["north.log"]
    assert found[crash] == "it broke"
    assert "Read it before you send it" in told[-1]
    assert (tmp_path / "report.zip").stat().st_mode & 0o077 == 0
    code, told = bundle(options, tmp_path)
    assert code == 1
    assert "exists already" in told[-1]


@pytest.mark.parametrize("says", ["yes", "no"])
def test_a_conversation_goes_along_only_after_a_yes(options: Options, tmp_path: Path, says: str) -> None:
    assert bundle(options, tmp_path, "a1b2c3", says)[0] == 0
    found = contents(tmp_path)
    assert ("conversations/a1b2c3.jsonl" in found) == (says == "yes")
    assert STORED not in "".join(found.values())


def test_an_unknown_conversation_is_said(options: Options, tmp_path: Path) -> None:
    for id in ("ffffff", "../../config/secrets"):
        code, told = bundle(options, tmp_path, id, "yes")
        assert (code, told) == (1, [f"there is no conversation {id!r}"])
    assert not (tmp_path / "report.zip").exists()


def test_a_report_to_paste_has_versions_and_findings_and_neither_secrets_nor_the_home_folder(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "a.txt").write_text("a")
    first_commit(clone)
    monkeypatch.setenv("HOME", str(tmp_path))
    findings = [
        Finding("error", f"the key {STORED} in {tmp_path}/config is refused", "store another"),
        Finding("ok", OWN),
    ]
    told = problem_report(options, findings, clone / "north_lsp")
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=clone, capture_output=True, text=True
    ).stdout.strip()
    assert told.startswith(f"- North {__version__}, commit {head}, in `~/clone/north_lsp`\n- Python 3.")
    assert "in ~/config is refused\n         -> store another" in told
    assert "1 error. What to do:" in told
    assert told.endswith("\n```")
    for hidden in (STORED, OWN, str(tmp_path)):
        assert hidden not in told
    assert "commit" not in problem_report(options, findings, tmp_path / "site-packages" / "north_lsp")
