"""`config.yml`: the same settings as in config.json, below it."""

from pathlib import Path

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import STRICT, Settings
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.user_settings import load_settings


def write(store: Locations, text: str, name: str = "config.yml") -> Path:
    store.config.mkdir(exist_ok=True)
    path = store.config / name
    path.write_text(text)
    return path


def test_it_is_read_and_config_json_counts_before_it(store: Locations) -> None:
    write(store, "# mine\nturn:\n  maxRequests: 5\nretry.maxRetries: 7\nedits:\n  protected: ['*.sql']\n")
    found = load_settings(store)
    assert (found.turns.max_requests, found.retry_max, found.edits.protected) == (5, 7, ("*.sql",))
    assert found.problems == ()
    write(store, '{"turn.maxRequests": 6}', "config.json")
    found = load_settings(store)
    assert (found.turns.max_requests, found.retry_max) == (6, 7)


def test_a_mistake_is_named_with_its_line_and_concerns_no_other_setting(store: Locations) -> None:
    path = write(store, "turn:\n  maxRequests: 5\nsandbox: maybe\nretri: 1\n")
    found = load_settings(store)
    assert (found.turns.max_requests, found.sandbox) == (5, "workspace")
    assert found.problems[0].startswith(f"{path}, line 3, column 1: sandbox must be one of off, workspace")
    assert found.problems[1].startswith(f"{path}, line 4, column 1: the setting retri is unknown")


def test_a_word_that_yaml_reads_as_a_truth_value_needs_quotes(store: Locations) -> None:
    path = write(store, "sandbox: off\n")
    found = load_settings(store)
    assert found.sandbox == "workspace"
    assert 'must be one of off, workspace, not false; "off" needs its quotes' in found.problems[0]
    path.write_text('sandbox: "off"\n')
    assert load_settings(store).problems == ()


@pytest.mark.parametrize("broken", ["a: [", "- a\n", "a: &x [*x]\n"])
def test_one_that_breaks_leaves_in_force_what_was_else_denies(store: Locations, broken: str) -> None:
    write(store, '{"turn.maxRequests": 9}', "config.json")
    path = write(store, broken)
    assert load_settings(store).edits == STRICT.edits
    assert load_settings(store).turns.max_requests == STRICT.turns.max_requests
    path.write_text("sandbox: workspace\nturn.maxRequests: 5")
    before = load_settings(store)
    path.write_text(broken)
    found = load_settings(store)
    assert (found.sandbox, found.turns.max_requests) == ("workspace", 9) == (before.sandbox, before.turns.max_requests)
    assert "the settings that it had before are used" in found.problems[0]
    path.unlink()
    assert load_settings(store).sandbox == "off"


def test_a_change_is_noticed(store: Locations) -> None:
    settings = SettingsFile(store)
    assert settings.current() == Settings()
    write(store, "turn.maxRequests: 5")
    layered = settings.layered()
    assert (layered.settings.turns.max_requests, layered.origin("turn.maxRequests")) == (5, "user")
    assert layered.shown("turn.maxRequests") == 5
