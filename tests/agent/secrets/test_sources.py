"""What is secret is found in variables and in files of variables, as they are now."""

from pathlib import Path

import pytest

from north_lsp.agent.secrets.names import variables_of
from north_lsp.agent.secrets.sources import Sources, is_env_file


def sources(root: Path, **environ: str) -> Sources:
    return Sources(environ, [root], root / "config", lambda: ["north-own-key"])


def test_variables_files_and_norths_own_keys_are_known(tmp_path: Path) -> None:
    (tmp_path / "api/deep").mkdir(parents=True)
    (tmp_path / ".env").write_text("A_TOKEN=first-one\nNODE_ENV=development\n")
    (tmp_path / "api/deep/.env.local").write_text("B_SECRET=second-one\n")
    (tmp_path / ".env.example").write_text("C_SECRET=example-value\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/.env").write_text("D_SECRET=not-ours-here\n")
    found = sources(tmp_path, MY_API_KEY="third-one", HOME="/home/somebody").read()
    assert found.values == {"first-one", "second-one", "third-one", "north-own-key"}


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    there = sources(tmp_path)
    assert there.read().values == {"north-own-key"}
    (tmp_path / ".env").write_text("A_TOKEN=first-one\n")
    assert "first-one" in there.read().values
    (tmp_path / ".env").write_text("A_TOKEN=another-one\n")
    assert there.read().values == {"another-one", "north-own-key"}


def test_what_is_no_file_or_too_large_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    (tmp_path / ".env.local").symlink_to(tmp_path / "nowhere")
    (tmp_path / "big.env").write_bytes(b"A_TOKEN=first-one\n" * 2_000_000)
    assert sources(tmp_path).read().values == {"north-own-key"}


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (".env", True),
        (".env.production", True),
        ("dev.env", True),
        (".envrc", True),
        (".env.sample", False),
        ("env", False),
    ],
)
def test_names_of_files(name: str, is_one: bool) -> None:
    assert is_env_file(name) is is_one


@pytest.mark.parametrize("line", ["A=x" + " " * 500_000 + "y", "A=" + " x" * 250_000, "A=x" + " #" * 250_000])
def test_a_line_of_any_length_is_read_in_no_time(line: str) -> None:
    """Another form of the expression for comments would take hours for these."""
    assert len(list(variables_of(line))) == 1
