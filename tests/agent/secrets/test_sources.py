"""What is secret is found in variables and in files of variables, as they are now."""

from pathlib import Path

import pytest

from north_lsp.agent.secrets.names import variables_of
from north_lsp.agent.secrets.secrets import Secrets
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


def test_very_many_values_are_bounded_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("".join(f"A{number}_TOKEN=value-{number:06}\n" for number in range(3000)))
    found = sources(tmp_path).read()
    assert len(found.values) == 2001
    assert found.problems == (
        f"{tmp_path}/.env: there are more than 2,000 secrets in `.env` files; the rest is not masked",
    )


def test_very_many_files_are_bounded_and_that_is_said(tmp_path: Path) -> None:
    for number in range(510):
        (tmp_path / f".env.{number:03}").write_text(f"A_TOKEN=value-{number:06}\n")
    found = sources(tmp_path).read()
    assert len(found.values) == 501
    assert "more than 500 `.env` files" in found.problems[0]


def test_a_very_long_value_is_masked_in_pieces(tmp_path: Path) -> None:
    value = "".join(f"part-{number:06}." for number in range(8000))
    (tmp_path / ".env").write_text(f"A_TOKEN={value}\n")
    there = Secrets(sources(tmp_path), lambda: b"key", lambda: True)
    masked = there.masked(f"it is {value}!")
    assert masked == "it is <<$env:S0>><<$env:S1>><<$env:S2>>!"
    assert there.restored(masked) == f"it is {value}!"


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
