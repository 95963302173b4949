from pathlib import Path

import pytest

from north_lsp.storage.locations import Locations


def test_defaults_lie_in_the_home_directory() -> None:
    found = Locations.from_environment({"HOME": "/home/u"})
    assert found == Locations(Path("/home/u/.config/north"), Path("/home/u/.north"), Path("/home/u/.local/state/north"))
    assert found.conversations == Path("/home/u/.north/conversations")
    assert found.log_file == Path("/home/u/.local/state/north/north.log")
    assert found.locks == Path("/home/u/.local/state/north/locks")
    assert found.project("ab") == Path("/home/u/.north/projects/ab")


def test_xdg_directories_are_honoured_and_relative_ones_ignored() -> None:
    found = Locations.from_environment({"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "state"})
    assert (found.config, found.data, found.state) == (
        Path("/c/north"),
        Path("/h/.north"),
        Path("/h/.local/state/north"),
    )


def test_overrides_replace_the_whole_base_and_beat_xdg() -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "NORTH_CONFIG_DIR": "~/x", "NORTH_DATA_DIR": "/d"}
    found = Locations.from_environment({**environ, "NORTH_STATE_DIR": "~"})
    assert (found.config, found.data, found.state) == (Path("/h/x"), Path("/d"), Path("/h"))


@pytest.mark.parametrize("variable", ["NORTH_CONFIG_DIR", "NORTH_DATA_DIR", "NORTH_STATE_DIR"])
def test_a_relative_override_is_refused_by_name(variable: str) -> None:
    with pytest.raises(ValueError, match=f"{variable} must be an absolute path, not 'a/b'"):
        Locations.from_environment({"HOME": "/h", variable: "a/b"})


def test_nothing_is_created(tmp_path: Path) -> None:
    Locations.from_environment({"HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
