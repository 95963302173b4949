"""The layers of settings: which one wins, what a project may not do, and what a broken file leaves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.storage.setting import Declared, declared
from north_lsp.storage.settings import STRICT, Settings
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.settings_reader import read_value

_EACH = pytest.mark.parametrize("row", declared(Settings).values(), ids=list(declared(Settings)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    (path / ".north").mkdir(parents=True)
    return path


def user(store: Locations, text: str) -> None:
    store.config.mkdir(parents=True, exist_ok=True)
    (store.config / "config.json").write_text(text)


def project(root: Path, text: str) -> None:
    (root / ".north" / "settings.json").write_text(text)


def of(
    store: Locations, root: Path, *, distrusted: bool = False, editor: dict[str, object] | None = None
) -> SettingsFile:
    return SettingsFile(store, editor).of(root, lambda: distrusted)


def problems(settings: SettingsFile) -> list[str]:
    return [problem.partition(": ")[2] for problem in settings.current().problems]


def test_each_layer_wins_over_the_one_below_and_says_where_a_value_comes_from(store: Locations, root: Path) -> None:
    settings = SettingsFile(store, {}).of(root, lambda: False)
    seen = []
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: user(store, '{"shell.timeoutS": 1}'),
        lambda: project(root, '{"shell": {"timeoutS": 2}}'),
        lambda: settings.take_editor({"shell.timeoutS": 3}),
        lambda: settings.session.replace({"shell.timeoutS": 4}),
    ]
    for change in changes:
        change()
        seen.append((settings.current().shell.timeout_s, settings.layered().origin("shell.timeoutS")))
    assert seen == [(60, "default"), (1, "user"), (2, "project"), (3, "editor"), (4, "session")]
    assert settings.layered().below("shell.timeoutS") == [("editor", 3), ("project", 2), ("user", 1)]


def test_a_session_has_its_own_and_shares_what_the_editor_says(store: Locations, root: Path) -> None:
    process = SettingsFile(store)
    one, other = process.of(root, lambda: False), process.of(root, lambda: False)
    one.session.replace({"turn.maxRequests": 3})
    process.take_editor({"shell.timeoutS": 9})
    assert (one.current().turns.max_requests, other.current().turns.max_requests) == (3, 200)
    assert one.current().shell.timeout_s == other.current().shell.timeout_s == 9


@pytest.mark.parametrize(
    ("own", "says", "key", "applies", "refused"),
    [
        ('"edits.protected": ["a"]', '"edits.protected": ["b"]', "edits.protected", ("a", "b"), False),
        ('"edits.protected": ["a"]', '"edits.protected": []', "edits.protected", ("a",), False),
        ('"edits.staleCheck": "strict"', '"edits.staleCheck": "off"', "edits.staleCheck", "strict", True),
        ('"edits.staleCheck": "off"', '"edits.staleCheck": "strict"', "edits.staleCheck", "strict", False),
        ('"turn.maxRequests": 9', '"turn.maxRequests": 10', "turn.maxRequests", 9, False),
        ('"turn.maxRequests": 9', '"turn.maxRequests": 8', "turn.maxRequests", 8, False),
        ('"turn.maxRequests": 9', '"turn.maxRequests": 200', "turn.maxRequests", 9, False),
        ('"limits.readLines": 100', '"limits.readLines": 500', "limits.readLines", 100, False),
        ('"sandbox": "workspace"', '"sandbox": "off"', "sandbox", "workspace", True),
        ('"sessions.autoTitle": false', '"sessions.autoTitle": true', "sessions.autoTitle", False, True),
        ("", '"shell.alwaysAsk": ["rm"]', "shell.alwaysAsk", ("rm",), False),
    ],
)
def test_a_project_makes_what_guards_only_stricter(
    store: Locations, root: Path, own: str, says: str, key: str, applies: object, refused: bool
) -> None:
    user(store, f"{{{own}}}")
    project(root, f"{{{says}}}")
    settings = of(store, root)
    assert declared(Settings)[key].value_in(settings.current()) == applies
    assert any("can only make it stricter" in problem for problem in problems(settings)) == refused


def other(row: Declared) -> Any:
    """Return a value that is right and not the default; None if there is none among these."""
    for value in (True, False, 1, 5, 77, 1024, 70_000, "x", "off", "ask", "strict", "debug", "flex", "long",
                  "whitespace", "wait", "all", "never", "keyring", "followUp", "patch", "workspace",
                  "anthropic", "low", "always", "keep", "after-gap", "https://a.test/b",
                  ["a"], ["rule:a"],
                  ["extension-module:a"], {"a": "b"}, {"a": ["b"]}, [{"name": "read", "enabled": False}]):  # fmt: skip
        try:
            if read_value(row, value) != row.setting.default:
                return value
        except ValueError:
            continue
    return None


@_EACH
def test_a_project_sets_only_what_it_may(store: Locations, root: Path, row: Declared) -> None:
    """And whatever is set takes effect at once, or is said to wait."""
    value = other(row)
    assert value is not None
    project(root, json.dumps({row.setting.key: value}))
    settings = of(store, root)
    changed = row.value_in(settings.current()) != row.setting.default
    assert changed or row.setting.project != "yes"
    if row.setting.project == "no":
        assert not changed
        assert any("has no effect in a project's file" in problem for problem in problems(settings))
    if changed and row.setting.project == "stricter" and not isinstance(row.setting.default, tuple | int | float):
        assert row.value_in(settings.current()) == row.setting.strict
    if row.setting.project == "stricter" and row.kind not in (int, float, tuple[str, ...]):
        assert row.setting.guards
    assert not (row.setting.restart and row.setting.project != "no") or row.setting.key == "sandbox"
    assert of(store, root, distrusted=True).current() == Settings()


@pytest.mark.parametrize("prefix", ["auth.", "telemetry.", "cost.", "providers.", "retry."])
def test_what_is_about_keys_money_and_endpoints_is_never_a_projects(prefix: str) -> None:
    rows = [row.setting for key, row in declared(Settings).items() if key.startswith(prefix)]
    assert rows
    assert {row.project for row in rows} == {"no"}


@pytest.mark.parametrize("broken", ["{", "[]", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1") + "{"])
def test_a_projects_broken_file_keeps_what_it_said_else_is_strictest(store: Locations, root: Path, broken: str) -> None:
    settings = of(store, root)
    project(root, '{"edits.protected": ["*.sql"]}')
    assert settings.current().edits.protected == ("*.sql",)
    project(root, broken)
    assert settings.current().edits.protected == ("*.sql",)
    assert "what it said before is used" in problems(settings)[0]
    assert of(store, root).current().edits.protected == STRICT.edits.protected
    (root / ".north" / "settings.json").unlink()
    assert settings.current() == Settings()


def test_a_wrong_value_in_a_project_falls_back_for_its_key_alone(store: Locations, root: Path) -> None:
    user(store, '{"shell.timeoutS": 7}')
    project(root, '{"shell.timeoutS": 0, "edits.protected": 3, "turn.maxRequests": 5}')
    found = of(store, root).current()
    assert (found.shell.timeout_s, found.edits.protected, found.turns.max_requests) == (7, ("**",), 5)
    assert len(found.problems) == 2


def test_a_projects_file_that_leads_out_of_it_is_not_read(store: Locations, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text('{"secret-name": 1}')
    (root / ".north" / "settings.json").symlink_to(tmp_path / "outside.json")
    told = problems(of(store, root))
    assert "points outside the project" in told[0]
    assert "secret-name" not in str(told)


def test_nothing_counts_while_nobody_knows_what_the_users_file_says(store: Locations, root: Path) -> None:
    user(store, "{")
    project(root, '{"shell.timeoutS": 5}')
    settings = of(store, root, editor={"sandbox": "off"})
    settings.session.replace({"sandbox": "off"})
    assert settings.current().sandbox == "workspace"
    assert settings.layered().origin("shell.timeoutS") == "user"


def test_a_broken_file_of_the_users_is_one_problem_and_blames_no_project(store: Locations, root: Path) -> None:
    user(store, "{")
    (told,) = problems(of(store, root))
    assert "until the file is fixed, nothing is edited" in told


def test_a_wrong_place_for_keys_is_no_place_at_all(store: Locations, root: Path) -> None:
    user(store, '{"auth.storage": "cloud"}')
    file = of(store, root)
    (told,) = problems(file)
    assert "auth.storage must be" in told
    assert declared(Settings)["auth.storage"].value_in(file.current()) is None


@pytest.mark.parametrize(
    ("text", "key", "value", "told"),
    [
        ('{"queueMode": "all"}', "steeringMode", "all", "queueMode is called steeringMode now"),
        ('{"bash": {"virtualTerminal": "off"}}', "shell.virtualTerminal", "off", "is called shell.virtualTerminal now"),
        (
            '{"bashInterceptor.enabled": false}',
            "shell.interceptor.enabled",
            False,
            "is called shell.interceptor.enabled",
        ),
        ('{"theme": "dark", "tui.x": 1}', "steeringMode", "one-at-a-time", ""),
    ],
)
def test_former_names_are_read_with_a_notice_and_those_of_terminals_without(
    store: Locations, text: str, key: str, value: object, told: str
) -> None:
    user(store, text)
    found = SettingsFile(store).current()
    assert declared(Settings)[key].value_in(found) == value
    assert (told in found.problems[0]) if told else not found.problems
