"""One setting is changed, and the rest of the file stays as its user wrote it."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.storage.locations import Locations
from north_lsp.storage.settings_write import SettingNotWritten, save_text_setting


def save(folder: Path, before: str | None, value: str = "m") -> str:
    locations = Locations(folder / "config", folder / "data", folder / "state")
    path = locations.config / "config.json"
    if before is not None:
        path.parent.mkdir(parents=True)
        path.write_text(before)
    save_text_setting(locations, "selectedModel", value)
    return path.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, '{\n  "selectedModel": "m"\n}\n'),
        ("{}", '{"selectedModel": "m"}'),
        ('{"a": 1}', '{"selectedModel": "m", "a": 1}'),
        (
            '// mine\n{\n    // why\n    "a": 1,\n}\n',
            '// mine\n{\n    "selectedModel": "m",\n    // why\n    "a": 1,\n}\n',
        ),
        ('{"a": {"selectedModel": "x"}}', '{"selectedModel": "m", "a": {"selectedModel": "x"}}'),
        ('{"a": 1, "selectedModel" : "old" /* c */}', '{"a": 1, "selectedModel" : "m" /* c */}'),
        ('{"selectedModel": null}', '{"selectedModel": "m"}'),
        ('{ /* "selectedModel": "no" */ "selectedModel":"old"}', '{ /* "selectedModel": "no" */ "selectedModel":"m"}'),
    ],
)
def test_only_the_setting_changes(tmp_path: Path, before: str | None, after: str) -> None:
    assert save(tmp_path, before) == after


@pytest.mark.parametrize("before", ["{", "[]", '{"selectedModel": {"x": 1}}'])
def test_what_cannot_be_changed_is_left(tmp_path: Path, before: str) -> None:
    with pytest.raises(SettingNotWritten):
        save(tmp_path, before)
    assert (tmp_path / "config" / "config.json").read_text() == before


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "dotfile.json").write_text("{}")
    (tmp_path / "config" / "config.json").symlink_to(tmp_path / "dotfile.json")
    assert save(tmp_path, None) == '{"selectedModel": "m"}'
    assert (tmp_path / "config" / "config.json").is_symlink()


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('a"\\{}:/*,', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["selectedModel", "a", "{"]), inner),
    max_leaves=6,
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["selectedModel", "a", '"', "{", "/*"]), _VALUES), st.none() | st.integers(0, 4))
def test_any_object_keeps_its_other_values(before: dict[str, object], indent: int | None) -> None:
    with TemporaryDirectory() as folder:
        if isinstance(before.get("selectedModel"), (str, type(None))):
            after = save(Path(folder), json.dumps(before, indent=indent))
            assert json.loads(after) == {**before, "selectedModel": "m"}
        else:
            with pytest.raises(SettingNotWritten):
                save(Path(folder), json.dumps(before, indent=indent))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{"disabledRules": ["a", "b"]}'),
        ('{"disabledRules": [ "x", // why\n "]" ], "c": 1}', '{"disabledRules": ["a", "b"], "c": 1}'),
        (
            '{"c": {"disabledRules": []}, "disabledRules": null}',
            '{"c": {"disabledRules": []}, "disabledRules": ["a", "b"]}',
        ),
    ],
)
def test_a_list_takes_the_place_of_a_flat_one(tmp_path: Path, before: str, after: str) -> None:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    locations.config.mkdir()
    (locations.config / "config.json").write_text(before)
    save_text_setting(locations, "disabledRules", ["a", "b"])
    assert (locations.config / "config.json").read_text() == after


@pytest.mark.parametrize("before", ['{"disabledRules": "x"}', '{"disabledRules": [["x"]]}'])
def test_a_list_does_not_take_the_place_of_anything_else(tmp_path: Path, before: str) -> None:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    locations.config.mkdir()
    (locations.config / "config.json").write_text(before)
    with pytest.raises(SettingNotWritten):
        save_text_setting(locations, "disabledRules", ["a"])
    assert (locations.config / "config.json").read_text() == before
