"""A ready-made provider on its way into a file that others may change meanwhile."""

from pathlib import Path

import pytest

from north_lsp.providers.catalog.add_provider import ModelsText


def test_the_file_keeps_its_mode_and_what_was_written_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "models.yml"
    path.write_text("providers:\n  other: {baseUrl: 'http://h/v1', apiKey: sk-0123}\n")
    path.chmod(0o600)
    addition = ModelsText(tmp_path).with_preset("glm", None, None)
    addition.write()
    assert path.stat().st_mode & 0o777 == 0o600
    assert "glm-proxy:" in path.read_text()

    late = ModelsText(tmp_path).with_preset("openrouter", None, None, replace=True)
    path.write_text(mine := path.read_text() + "# mine\n")
    with pytest.raises(OSError, match="it has changed since the diff was shown"):
        late.write()
    assert path.read_text() == mine


def test_a_file_that_came_meanwhile_is_kept(tmp_path: Path) -> None:
    addition = ModelsText(tmp_path).with_preset("glm", None, None)
    (tmp_path / "models.yml").write_text("providers: {}\n")
    with pytest.raises(OSError, match="it has changed"):
        addition.write()
