from pathlib import Path

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import EditSettings, Settings, SettingsError, TurnSettings, load_settings


def write(store: Locations, text: str) -> Path:
    store.config.mkdir()
    path = store.config / "config.json"
    path.write_text(text)
    return path


def test_without_a_file_the_defaults_hold(store: Locations) -> None:
    assert load_settings(store) == Settings(None, "agent", "info")
    assert not store.config.exists()


def test_keys_are_read_flat_or_nested_and_unknown_ones_ignored(store: Locations) -> None:
    write(store, '{"selectedModel": "a/b", "mode.default": "ask", "log": {"level": "debug", "x": 1}, "other": []}')
    assert load_settings(store) == Settings("a/b", "ask", "debug")


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ('{\n  "selectedModel": ,\n}', 2, 20, "Expecting value"),
        ("[]", 1, 1, "has to be an object"),
        ('{\n "selectedModel": 3}', 2, 2, "selectedModel has to be a text"),
        ('{"mode": {\n"default": "yolo"}}', 2, 1, "mode.default has to be one of ask, agent, not 'yolo'"),
        ('{"log.level": "loud"}', 1, 2, "log.level has to be one of debug, info, warn, error, not 'loud'"),
        ("{" + " " * 1024 * 1024 + "}", 1, 1, "larger than 1048576 bytes"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(
    store: Locations, text: str, line: int, column: int, problem: str
) -> None:
    path = write(store, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(store)
    assert str(caught.value) == f"{path}, line {line}, column {column}: {problem}"
    assert path.read_text() == text


def test_how_edit_tools_behave_can_be_set(store: Locations) -> None:
    assert load_settings(store).edits == EditSettings()
    write(
        store,
        '{"edits": {"tolerance": "whitespace", "staleCheck": "strict", "variant": "patch", "protected": ["*.sql"]},'
        ' "edits.allowGenerated": ["gen/**"], "checkpoints.shell": true}',
    )
    assert load_settings(store).edits == EditSettings("whitespace", "strict", "patch", ("gen/**",), ("*.sql",), True)


@pytest.mark.parametrize(
    "text",
    ['{"edits": {"tolerance": "some"}}', '{"edits": {"protected": "x"}}', '{"checkpoints": {"shell": "yes"}}'],
)
def test_edit_settings_that_make_no_sense_are_named(store: Locations, text: str) -> None:
    write(store, text)
    with pytest.raises(SettingsError, match="line 1"):
        load_settings(store)


def test_settings_of_turns_are_read_and_kept_within_their_limits(store: Locations) -> None:
    path = write(
        store,
        '{"turn": {"maxRequests": 5, "nudgeUnappliedCode": true}, "stream.flushMs": 100, "edits.streamGuard": false,'
        ' "queue": {"defaultBehavior": "steer", "steeringMode": "all", "followUpMode": "all", "interruptMode": "wait"},'
        ' "cost": {"sessionLimitUsd": 2, "dayLimitUsd": 0.5}, "retry.fallbackRevertPolicy": "never"}',
    )
    wanted = TurnSettings(5, True, 100, False, "steer", "all", "all", "wait", 2.0, 0.5, "never")
    assert load_settings(store).turns == wanted
    for key, value, problem in (
        ("turn.maxRequests", "0", "has to be from 1 to 10000, not 0"),
        ("stream.flushMs", "9", "has to be from 10 to 250, not 9"),
        ("queue.interruptMode", '"now"', "has to be one of immediate, wait"),
        ("cost.dayLimitUsd", "-1", "has to be a number, 0 or more"),
        ("cost.dayLimitUsd", "1e999", "has to be a number, 0 or more"),
    ):
        path.write_text(f'{{"{key}": {value}}}')
        with pytest.raises(SettingsError, match=problem):
            load_settings(store)
