import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args, get_origin

import jsonschema
import pytest

from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.catalog.model_selection import Allowed
from north_lsp.storage.edit_settings import EditSettings
from north_lsp.storage.locations import Locations
from north_lsp.storage.setting import Declared, declared
from north_lsp.storage.settings import STRICT, Settings, needs_restart
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.settings_json_schema import json_schema, value_schema
from north_lsp.storage.settings_reader import NOT_HERE, read_value
from north_lsp.storage.shell_settings import InterceptorRule
from north_lsp.storage.turn_settings import TurnSettings
from north_lsp.storage.user_settings import load_settings


def write(store: Locations, text: str) -> Path:
    store.config.mkdir()
    path = store.config / "config.json"
    path.write_text(text)
    return path


def allows_openai(settings: Settings) -> bool:
    folder = Path("/nowhere")
    return Allowed.by(settings.models, None).allows(load_catalog(folder, {}).find("gpt-5"))


def test_without_a_file_the_defaults_hold(store: Locations) -> None:
    assert load_settings(store) == Settings(None, "agent", "info")
    assert not store.config.exists()


def test_keys_are_read_flat_or_nested_and_unknown_ones_told(store: Locations) -> None:
    write(store, '{"selectedModel": "a/b", "mode.default": "ask", "log": {"level": "debug", "x": 1}, "other": []}')
    found = load_settings(store)
    assert replace(found, problems=()) == Settings("a/b", "ask", "debug")
    assert [problem.partition(": ")[2] for problem in found.problems] == [
        "the setting log.x is unknown and has no effect",
        "the setting other is unknown and has no effect",
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ('{\n  "selectedModel": ,\n}', 2, 20, "Expecting value"),
        ("[]", 1, 1, "must be an object"),
        ("{" + " " * 1024 * 1024 + "}", 1, 1, "larger than 1048576 bytes"),
        ('{"a": ' * 5000, 1, 1, "a number is too large, or the nesting too deep"),
    ],
)
def test_what_a_file_cannot_tell_is_denied(store: Locations, text: str, line: int, column: int, problem: str) -> None:
    path = write(store, text)
    found = load_settings(store)
    assert replace(found, problems=()) == STRICT
    assert found.problems[0].startswith(f"{path}, line {line}, column {column}: {problem}; until the file is fixed")
    assert path.read_text() == text
    assert not allows_openai(found)
    assert found.shell_always_ask == ("",)


@pytest.mark.parametrize("broken", ["{", "", "[1]", "\xff", '{"sandbox": "off"'])
def test_a_file_that_breaks_leaves_in_force_what_was(store: Locations, broken: str) -> None:
    path = write(store, '{"sandbox": "workspace", "edits.protected": ["*.sql"], "disabledProviders": ["openai"]}')
    before = load_settings(store)
    path.write_bytes(broken.encode("latin-1"))
    found = load_settings(store)
    assert replace(found, problems=()) == before
    assert "the settings that it had before are used" in found.problems[0]
    path.unlink()
    assert load_settings(store) == Settings()


def test_the_copy_is_for_the_user_alone(store: Locations) -> None:
    write(store, '{"auth.broker.token": "secret"}')
    load_settings(store)
    assert store.last_good("config.json").stat().st_mode & 0o777 == 0o600


# A value of the wrong kind, and what counts instead: never more than the user may have wanted to allow.
_STRICTER: list[tuple[str, str, Callable[[Settings], object], object]] = [
    ("sandbox", '"none"', lambda one: one.sandbox, "workspace"),
    ("sandbox", "true", lambda one: one.sandbox, "workspace"),
    ("mode.default", '"yolo"', lambda one: one.mode_default, "ask"),
    ("shell.alwaysAsk", '"rm"', lambda one: one.shell_always_ask, ("",)),
    ("shell.alwaysAsk", '["rm", "("]', lambda one: one.shell_always_ask, ("",)),
    ("shell.prefix", "[1]", lambda one: one.shell_always_ask, ("",)),
    ("shell.passKeys", '"yes"', lambda one: one.shell.pass_keys, False),
    ("shell.passVariables", '"*"', lambda one: one.shell_pass_variables, ()),
    ("shell.useClientTerminal", "1", lambda one: one.shell_client_terminal, False),
    ("edits.protected", '"x"', lambda one: one.edits.protected, ("**",)),
    ("edits.protected", '["a", 1]', lambda one: one.edits.protected, ("**",)),
    ("edits.allowGenerated", '"**"', lambda one: one.edits.allow_generated, ()),
    ("edits.staleCheck", '"of"', lambda one: one.edits.stale_check, "strict"),
    ("edits.tolerance", '"some"', lambda one: one.edits.tolerance, "none"),
    ("checkpoints.shell", '"yes"', lambda one: one.edits.shell_checkpoints, True),
    ("files.extraReadRoots", '"/"', lambda one: one.reading.extra_roots, ()),
    ("cost.dayLimitUsd", "-1", lambda one: one.turns.day_limit_usd, 0.01),
    ("cost.sessionLimitUsd", '"5"', lambda one: one.turns.session_limit_usd, 0.01),
    ("cost.sessionLimitUsd", "1e999", lambda one: one.turns.session_limit_usd, 0.01),
    ("cost.sessionLimitUsd", "NaN", lambda one: one.turns.session_limit_usd, 0.01),
    ("cost.sessionLimitUsd", f"1{'0' * 400}", lambda one: one.turns.session_limit_usd, 0.01),
    ("context.editorState", '"no"', lambda one: one.context.editor_state, False),
    ("memories.enabled", '"yes"', lambda one: one.memory.enabled, False),
    ("secrets.enabled", '"off"', lambda one: one.secrets.enabled, True),
    ("secrets.offIn", '"/"', lambda one: one.secrets.off_in, ()),
    ("secrets.offIn", '["/a", 1]', lambda one: one.secrets.off_in, ()),
    ("profile.offer", '"no"', lambda one: one.context.offer_profile, False),
    ("contextPromotion.enabled", '"no"', lambda one: one.turns.context_promotion, False),
    ("discovery.local", "0", lambda one: one.models.discover_local, False),
    ("retry.fallbackChains", '{"a": "b"}', lambda one: one.retry_fallback_chains, {}),
    ("auth.storage", '"safe"', lambda one: one.models.key_storage, None),
    ("enabledModels", "[3]", allows_openai, False),
    ("enabledModels", "{}", allows_openai, False),
    ("disabledProviders", "[3]", allows_openai, False),
    (
        "disabledProviders",
        '[{"path": "here", "providers": ["openai"]}]',
        allows_openai,
        False,
    ),
]


@pytest.mark.parametrize(
    ("key", "value", "part", "wanted"), _STRICTER, ids=[f"{row[0]}={row[1][:40]}" for row in _STRICTER]
)
def test_a_wrong_value_never_allows_more(
    store: Locations, key: str, value: str, part: Callable[[Settings], object], wanted: object
) -> None:
    """And it concerns no other setting."""
    write(store, f'{{"selectedModel": "a/b", "{key}": {value}, "retry.maxRetries": 7}}')
    found = load_settings(store)
    assert part(found) == wanted
    assert (found.selected_model, found.retry_max) == ("a/b", 7)
    assert len(found.problems) == 1
    assert key in found.problems[0]
    assert "line 1, column 26" in found.problems[0]


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("sandbox", '"none"', 'must be one of off, workspace, not "none"; until it is fixed, it is "workspace"'),
        ("edits.protected", "3", 'must be a list of strings; until it is fixed, it is ["**"]'),
        ("shell.prefix", "3", "must be a string; until it is fixed, shell.alwaysAsk has its strictest value"),
        ("shell.alwaysAsk", '["("]', "every command asks"),
        ("log.level", "3", "must be one of debug, info, warn, error, not 3"),
        ("log.files", "true", "must be a whole number, from 1 to 100"),
        ("retry.maxRetries", "-1", "must be 0 or more, not -1"),
        ("provider.maxOutputTokens", "5", "must be 1024 or more, not 5; until it is fixed, it is 1024"),
        ("shell.env", '{"A": 3}', "must be an object of strings"),
    ],
)
def test_a_problem_says_what_to_write_and_what_counts_until_then(
    store: Locations, key: str, value: str, problem: str
) -> None:
    write(store, f'{{"{key}": {value}}}')
    (told,) = load_settings(store).problems
    assert f": {key} " in told
    assert told.endswith(problem)


def test_a_rule_that_is_none_is_left_out_alone(store: Locations) -> None:
    good = '{"name": "a", "pattern": "b", "tool": "c"}'
    path = write(store, f'{{"shell.interceptor.rules": [{good}, {{"name": "d", "pattern": "("}}, {{"pattern": 1}}]}}')
    found = load_settings(store)
    assert found.shell.interceptor_rules == (InterceptorRule("a", "b", "c"),)
    place = f"{path}, line 1, column 2: shell.interceptor.rules is used without the rule"
    assert found.problems == (
        f"{place} d: it needs a pattern and a tool",
        f"{place} number 3: it has values of a wrong type",
    )


def test_of_very_many_unknown_settings_the_first_are_named(store: Locations) -> None:
    path = write(store, json.dumps({f"nosuchkey{number:04}": 1 for number in range(1000)}))
    problems = load_settings(store).problems
    assert len(problems) == 21
    assert "the setting nosuchkey0019 is unknown and has no effect" in problems[19]
    assert problems[20].startswith(f"{path}, line 1, ")
    assert problems[20].endswith(": 980 more settings are unknown and have no effect")


def test_unknown_settings_are_named_with_what_may_be_meant(store: Locations) -> None:
    path = write(store, '{"edits": {"tolerence": "none"},\n "nosuchkey": 1, "$schema": "x", "limits.readLine": 5}')
    found = load_settings(store)
    assert found.problems == (
        f"{path}, line 1, column 12: the setting edits.tolerence is unknown and has no effect; "
        "did you mean edits.tolerance?",
        f"{path}, line 2, column 2: the setting nosuchkey is unknown and has no effect",
        f"{path}, line 2, column 34: the setting limits.readLine is unknown and has no effect; "
        "did you mean limits.readLines?",
    )


@pytest.mark.parametrize(("written", "applies"), [("1", 60_000), ("999", 60_000), ("1000", 1000), ("0", 0)])
def test_an_interval_that_would_flood_a_server_is_refused(store: Locations, written: str, applies: int) -> None:
    path = write(store, f'{{"mcp.pingIntervalMs": {written}}}')
    found = load_settings(store)
    assert found.mcp.ping_interval_ms == applies
    told = f"{path}, line 1, column 2: mcp.pingIntervalMs must be 1000 or more, or 0, not {written}"
    assert found.problems == (() if applies != 60_000 else (told,))


@pytest.mark.parametrize("key", NOT_HERE)
def test_a_setting_for_what_north_does_not_have_says_why(store: Locations, key: str) -> None:
    path = write(store, json.dumps({key: True}))
    told = f"{path}, line 1, column 2: the setting {key} is unknown and has no effect: {NOT_HERE[key]}"
    assert load_settings(store).problems == (told,)


# For each setting a value that differs from its default.
_FLIPPED = {
    "selectedModel": '"x"', "mode.default": '"ask"', "log.level": '"debug"', "log.maxBytes": "70000", "log.files": "2",
    "sessions.maxAgeDays": "30", "sessions.fsync": '"never"',
    "mcp.enabled": "false", "mcp.enableProjectConfig": "false", "mcp.startupWaitMs": "0", "mcp.pingIntervalMs": "0",
    "telemetry.enabled": "true", "telemetry.endpoint": '"http://127.0.0.1:4318"',
    "telemetry.content": "true",
    "retry.enabled": "false", "retry.requestMaxRetries": "1", "retry.streamMaxRetries": "1", "retry.maxRetries": "1",
    "retry.baseDelayMs": "1", "retry.maxDelayMs": "1", "retry.maxElapsedMs": "1",
    "retry.fallbackChains": '{"a": ["b"]}',
    "retry.fallbackRevertPolicy": '"never"', "provider.idleTimeoutS": "1", "provider.requestTimeoutS": "1",
    "provider.maxOutputTokens": "2000", "sandbox": '"workspace"', "shell.passVariables": '["A"]',
    "shell.alwaysAsk": '["x"]', "shell.interceptor.enabled": "false", "shell.useClientTerminal": "true",
    "shell.path": '"/bin/bash"', "shell.persistent": "false", "shell.virtualTerminal": '"off"',
    "shell.env": '{"A": "b"}', "shell.passKeys": "true", "shell.prefix": '"nice"', "shell.snapshot": "false",
    "shell.minimize": "false", "shell.interceptor.rules": '[{"name": "read", "enabled": false}]',
    "shell.timeoutS": "5", "edits.tolerance": '"whitespace"', "edits.staleCheck": '"off"', "edits.variant": '"patch"',
    "edits.allowGenerated": '["a"]', "edits.protected": '["a"]', "edits.streamGuard": "false",
    "edits.saveAfterApply": "false", "lsp.diagnosticsOnWrite": "false", "lsp.enabled": "false",
    "checkpoints.shell": "true", "files.extraReadRoots": '["/x"]', "files.indexLimit": "100", "digest.enabled": "false",
    "ask.timeout": "1", "todo.enabled": "false", "web_fetch.enabled": "false",
    "completion.inline": "true", "web_search.enabled": "false", "providers.webSearch": '"brave"', "searxng.endpoint": '"http://x"',
    "exa.enabled": "false", "exa.enableSearch": "false",
    "searxng.categories": '"it"', "searxng.language": '"de"',
    "searxng.token": '"t"', "searxng.basicUsername": '"u"', "searxng.basicPassword": '"p"',
    "todo.reminders": "false", "tasks.todoClearDelay": "-1",
    "task.enabled": "false", "task.maxConcurrency": "2", "task.maxRecursionDepth": "1", "task.maxRequests": "9",
    "task.timeoutS": "7",
    "tools.discoveryThreshold": "0", "turn.maxRequests": "1", "turn.nudgeUnappliedCode": "true",
    "ttsr.enabled": "false", "ttsr.builtinRules": "false", "ttsr.interruptMode": '"never"',
    "ttsr.contextMode": '"keep"', "ttsr.repeatMode": '"after-gap"', "ttsr.repeatGap": "1",
    "stream.flushMs": "10", "queue.defaultBehavior": '"followUp"', "steeringMode": '"all"', "followUpMode": '"all"',
    "interruptMode": '"wait"', "queue.steeringMode": '"all"', "queue.followUpMode": '"all"',
    "queue.interruptMode": '"wait"', "cost.sessionLimitUsd": "1", "cost.dayLimitUsd": "1",
    "contextPromotion.enabled": "false", "compaction.enabled": "false", "compaction.reserveTokens": "1",
    "compaction.keepRecentTokens": "1", "compaction.model": '"a"',
    "skills.enabled": "false", "skills.enableSkillCommands": "false", "skills.customDirectories": '["a"]',
    "skills.ignoredSkills": '["a"]', "skills.includeSkills": '["a"]', "skills.enableNativeUser": "false",
    "skills.enableNativeProject": "false", "skills.enableClaudeUser": "false", "skills.enableClaudeProject": "false",
    "skills.enableCodexUser": "false", "agentModelOverrides": '{"explore": "a"}',
    "compaction.autoContinue": "false", "compaction.remoteEndpoint": '"https://a.example/"',
    "sessions.autoTitle": "false", "sessions.promptHistory": "false",
    "sessions.save": "false", "completion.nextEdits": "true", "edits.confirmInEditor": "true", "plan.inProject": "true",
    "branchSummary.enabled": "true", "branchSummary.reserveTokens": "1024",
    "memories.enabled": "true", "memories.maxRolloutAgeDays": "1", "memories.minRolloutIdleHours": "1",
    "memories.maxRolloutsPerStartup": "1", "memories.summaryInjectionTokenLimit": "1",
    "profile.offer": "false", "context.editorState": "false", "disabledRules": '["a"]', "rules.maxBytes": "100",
    "disabledItems": '["rule:a"]', "disabledExtensions": '["extension-module:a"]',
    "extensions": '["~/a.py"]',
    "secrets.enabled": "false", "secrets.offIn": '["/x"]', "notifications": '"off"', "enabledModels": '["a"]',
    "disabledProviders": '["a"]', "modelProviderOrder": '["a"]', "modelRoles": '{"fast": "a"}',
    "thinking.level": '"low"', "thinking.show": "false", "serviceTier": '"flex"', "discovery.local": "false",
    "providers.cacheRetention": '"long"', "providers.kimiApiFormat": '"anthropic"', "auth.storage": '"keyring"',
    "auth.broker.url": '"https://x"', "auth.broker.token": '"t"',
    **{key: str(row.setting.low) for key, row in declared(Settings).items() if key.startswith("limits.")},
}  # fmt: skip


@pytest.mark.parametrize("key", _FLIPPED)
def test_every_setting_is_read(store: Locations, key: str) -> None:
    """Flat and nested, to the same settings, without a complaint."""
    path = write(store, f'{{"{key}": {_FLIPPED[key]}}}')
    found = load_settings(store)
    assert found.problems == ()
    assert found != Settings()
    nested = _FLIPPED[key]
    for name in reversed(key.split(".")):
        nested = f'{{"{name}": {nested}}}'
    path.write_text(nested)
    assert load_settings(store) == found


def test_the_table_above_has_every_setting() -> None:
    names = [name for row in declared(Settings).values() for name in (row.setting.key, *row.setting.aliases)]
    assert sorted(_FLIPPED) == sorted(names)


def test_of_two_names_of_a_setting_the_second_is_said_to_have_no_effect(store: Locations) -> None:
    path = write(store, '{"queue": {"steeringMode": "one-at-a-time"},\n "steeringMode": "all"}')
    found = load_settings(store)
    assert found.turns == TurnSettings(steering_mode="all")
    assert found.problems == (
        f"{path}, line 1, column 12: queue.steeringMode has no effect: it is another name of steeringMode, "
        "which is set too",
    )


_ROWS = declared(Settings).values()
_each = pytest.mark.parametrize("row", _ROWS, ids=list(declared(Settings)))


@_each
def test_a_declaration_makes_sense(row: Declared) -> None:
    """What takes the place of a wrong value is a value that could have been written, or is None or made by North."""
    setting = row.setting
    assert row.value_in(Settings()) == setting.default
    assert row.value_in(STRICT) == setting.strict
    for value in (setting.default, setting.strict):
        if value is not None and setting.schema is None:
            plain = list(value) if isinstance(value, tuple) else value
            assert read_value(row, plain) == value
    assert setting.text[0].isupper()
    assert setting.text.endswith(".")
    assert set(setting.tightens) <= declared(Settings).keys()


# Of each type one at least, right and wrong ones for every setting.
_SAMPLES: list[object] = [
    True, False, -1, 0, 1, 5, 20, 50, 1024, 70_000, 10**9, 10**30, 0.5, -0.5, "", "x", "on", "off", "file", "anchors",
    [], ["a"], [1], ["a", 1], [[]], [{}], {}, {"a": "b"}, {"a": 1}, {"a": ["b"]}, {"a": [1]}, {"a": []},
    [{"path": "/a", "models": ["b"]}], [{"path": "/a", "providers": "b"}], {"paths": ["/a"], "values": "b"},
    [{"models": "b"}], [{"path": "/a", "models": "b", "c": 1}], [{"name": "read", "enabled": False}],
    [{"name": "a", "pattern": "b", "tool": "c", "reason": "d"}], [{"name": "a", "pattern": "b"}], [{"enabled": 1}],
]  # fmt: skip


@_each
def test_the_schema_accepts_what_the_reader_accepts(row: Declared) -> None:
    """Editors know settings by the schema that pydantic makes of a declaration; North reads them without pydantic."""
    judge = jsonschema.Draft7Validator(value_schema(row))
    choices = get_args(row.kind) if get_origin(row.kind) is Literal else ()
    for value in (*_SAMPLES, *choices):
        try:
            read_value(row, value)
        except ValueError:
            is_read = False
        else:
            is_read = True
        assert judge.is_valid(value) == is_read, value


@cache
def _judge() -> jsonschema.Draft7Validator:
    judge = jsonschema.Draft7Validator(json_schema())
    judge.check_schema(judge.schema)
    return judge


@pytest.mark.parametrize("key", _FLIPPED)
def test_the_schema_knows_every_setting_flat_and_nested(key: str) -> None:
    judge = _judge()
    nested = json.loads(_FLIPPED[key])
    assert judge.is_valid({key: nested})
    assert not judge.is_valid({key: None})
    assert not judge.is_valid({f"{key}x": nested})
    for name in reversed(key.split(".")):
        nested = {name: nested}
    assert judge.is_valid({"$schema": "x", **nested})
    assert not judge.is_valid({"x": nested})


def test_how_edit_tools_behave_can_be_set(store: Locations) -> None:
    assert load_settings(store).edits == EditSettings()
    write(
        store,
        '{"edits": {"tolerance": "whitespace", "staleCheck": "strict", "variant": "patch", "protected": ["*.sql"]},'
        ' "edits.allowGenerated": ["gen/**"], "checkpoints.shell": true}',
    )
    assert load_settings(store).edits == EditSettings("whitespace", "strict", "patch", ("gen/**",), ("*.sql",), True)


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
        ("turn.maxRequests", "0", "must be from 1 to 10000, not 0"),
        ("stream.flushMs", "9", "must be from 10 to 250, not 9"),
        ("queue.interruptMode", '"now"', "must be one of immediate, wait"),
    ):
        path.write_text(f'{{"{key}": {value}}}')
        found = load_settings(store)
        assert found.turns == TurnSettings()
        assert problem in found.problems[0]


def test_a_file_is_read_again_when_it_has_changed(store: Locations) -> None:
    path = write(store, '{"turn.maxRequests": 5}')
    settings = SettingsFile(store)
    before = settings.current()
    assert before.turns.max_requests == 5
    assert settings.current() is before
    path.write_text('{"turn.maxRequests": 50, "x": 1}')
    assert settings.current().turns.max_requests == 50
    assert [problem.partition(": ")[2] for problem in settings.take_problems()] == [
        "the setting x is unknown and has no effect"
    ]
    assert settings.take_problems() == []
    path.unlink()
    assert settings.current() == Settings()


def test_what_takes_effect_later_is_named() -> None:
    sandboxed = replace(Settings(), sandbox="workspace", turns=TurnSettings(5))
    assert needs_restart(Settings(), sandboxed) == ["sandbox"]
    variant = replace(Settings(), retry_max=1, edits=EditSettings(variant="patch"))
    assert needs_restart(Settings(), variant) == ["retry.maxRetries", "edits.variant"]
    assert needs_restart(Settings(), Settings()) == []


@pytest.mark.parametrize(
    "text", ["", '{"sandbox": "workspace", "limits.readLines": 0, "enabledModels": ["a", 3], "x": 1}']
)
def test_settings_are_read_without_pydantic(store: Locations, text: str) -> None:
    """They are read before a conversation can open."""
    if text:
        write(store, text)
    script = f"""
import sys
from pathlib import Path
from north_lsp.storage.locations import Locations
from north_lsp.storage.user_settings import load_settings
load_settings(Locations(*map(Path, {[str(store.config), str(store.data), str(store.state)]})))
assert not sys.modules.keys() & {{"pydantic", "pydantic_core", "annotated_types", "typing_extensions"}}
"""
    subprocess.run([sys.executable, "-c", script], check=True)
