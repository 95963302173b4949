from pathlib import Path

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import STRICT, Settings
from north_lsp.storage.settings_file import SettingsFile


def write(store: Locations, text: str) -> Path:
    store.config.mkdir(exist_ok=True, parents=True)
    path = store.config / "config.json"
    path.write_text(text)
    return path


def test_what_is_set_in_the_editor_wins_over_the_file(store: Locations) -> None:
    write(store, '{"turn.maxRequests": 5, "digest.enabled": false}')
    settings = SettingsFile(store, {"turn.maxRequests": 7, "edits.protected": ["*.sql"]}).current()
    assert (settings.turns.max_requests, settings.reading.digest) == (7, False)
    assert settings.edits.protected == ("*.sql",)
    assert settings.problems == ()


def test_what_the_editor_sets_later_holds_at_once_and_what_it_takes_back_does_not(store: Locations) -> None:
    write(store, '{"turn.maxRequests": 5}')
    file = SettingsFile(store)
    assert file.current().turns.max_requests == 5
    file.take_editor({"turn.maxRequests": 8})
    assert file.current().turns.max_requests == 8
    file.take_editor({})
    assert file.current().turns.max_requests == 5


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("turn.maxRequests", "many", "it must be"),
        ("turn.maxRequest", 3, "it is unknown and has no effect"),
        ("selectedModel", "a/b", "it has no effect there, only in the file"),
        ("auth.broker.token", "secret", "it has no effect there, only in the file"),
    ],
)
def test_a_mistake_in_the_editor_is_told_and_left_out(store: Locations, key: str, value: object, told: str) -> None:
    settings = SettingsFile(store, {key: value}).current()
    [problem] = settings.problems
    assert problem.startswith(f"the editor's setting north.{key}: {told}")
    assert settings.turns.max_requests == Settings().turns.max_requests
    assert "secret" not in problem


def test_a_wrong_value_of_what_restricts_is_the_strictest_one(store: Locations) -> None:
    assert SettingsFile(store, {"sandbox": 3}).current().sandbox == "workspace"


def test_the_editor_loosens_nothing_while_nobody_knows_what_the_file_says(store: Locations) -> None:
    write(store, "{")
    settings = SettingsFile(store, {"sandbox": "off", "edits.protected": []}).current()
    assert settings.sandbox == STRICT.sandbox
    assert settings.edits.protected == STRICT.edits.protected


def test_an_editor_may_nest_its_settings_and_use_their_other_names(store: Locations) -> None:
    settings = SettingsFile(store, {"turn": {"maxRequests": 7, "x": 1}, "queue": {"steeringMode": "all"}}).current()
    assert (settings.turns.max_requests, settings.turns.steering_mode) == (7, "all")
    assert [problem.partition(": ")[0] for problem in settings.problems] == ["the editor's setting north.turn.x"]


def test_a_wrong_value_in_the_editor_leaves_what_the_file_says(store: Locations) -> None:
    write(store, '{"turn.maxRequests": 5, "edits.tolerance": "whitespace"}')
    settings = SettingsFile(store, {"turn.maxRequests": "many", "edits.tolerance": 3}).current()
    assert settings.turns.max_requests == 5
    assert settings.edits.tolerance == "none"  # it guards: the strictest counts


def test_what_the_opened_folder_may_have_set_in_the_editor_only_does_what_a_project_may(store: Locations) -> None:
    write(store, '{"sandbox": "workspace", "turn.maxRequests": 5, "edits.protected": ["*.sql"]}')
    file = SettingsFile(store)
    mixed = {"sandbox": "off", "shell.prefix": "evil", "turn.maxRequests": 4, "shell.timeoutS": 9}
    file.take_editor({**mixed, "edits.protected": ["*.py"]}, as_project=True)
    settings = file.current()
    assert (settings.sandbox, settings.shell.prefix) == ("workspace", Settings().shell.prefix)
    assert (settings.turns.max_requests, settings.shell.timeout_s) == (4, 9)
    assert settings.edits.protected == ("*.sql", "*.py")
    told = sorted(problem.partition(": ")[0] for problem in file.take_problems())
    assert told == ["the editor's setting north.sandbox", "the editor's setting north.shell.prefix"]
    file.take_editor({**mixed, "shell.timeoutS": 8}, as_project=True)
    assert file.take_problems() == []  # once
    file.take_editor(mixed)
    assert file.current().sandbox == "off"
