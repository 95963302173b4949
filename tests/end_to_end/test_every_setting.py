"""Each setting is flipped, and what North does is not what it did: here, or in the test that the table names."""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.storage.memory_files import SUMMARY, MemoryFiles
from north_lsp.storage.setting import declared
from north_lsp.storage.settings import Settings
from north_lsp.workspace.project_root import project_hash
from tests.end_to_end.test_context import write
from tests.end_to_end.test_faults import opened, prompt
from tests.end_to_end.test_secrets_campaign import agree
from tests.end_to_end.test_stream_rules import BAD, RULE
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Fail, Gate, Say, answer, call, usage

DONE = answer(Say("Answered after all.", 1))
BUSY = answer(Fail(529, "overloaded_error", "busy"))
ONCE = {"retry.requestMaxRetries": 0, "retry.streamMaxRetries": 0}
"""Each failure is one of the turn's own retries."""
TESTS = Path(__file__).parent.parent


def run(command: str, **more: Any) -> tuple[Answer, ...]:
    return (answer(call("shell_run", command=command, **more)), DONE)


def use(name: str, **arguments: Any) -> tuple[Answer, ...]:
    return (answer(call(name, **arguments)), DONE)


def python(names: int) -> str:
    return "\n".join(f"def f{number}(x):\n    return x\n" for number in range(names))


@dataclass(frozen=True)
class Row:
    """With `value`, what is sent and shown has these words, and by default it has not; with `by_default` it is the
    other way round. `others` are settings that both have; `files` are in the project, `environ` in the environment.
    `sent_only`: the words are looked for in what models are sent; one that never ends by default is only flipped."""

    value: object
    words: str
    answers: tuple[Answer, ...] = (DONE,)
    prompts: tuple[str, ...] = ("Go",)
    by_default: bool = False
    others: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    memory: str = ""
    sent_only: bool = False
    ends_by_default: bool = True


def offer(name: str) -> str:
    """How a request names a tool that it offers."""
    return f'{{"name": "{name}"'


MANY = {f"many/{number}.txt": "x" for number in range(30)} | {f"top{number}.md": "x" for number in range(30)}
HTML = "".join(f'<section id="s{number}">\n<p>text</p>\n</section>\n' for number in range(60))

SEEN: dict[str, Row] = {
    "task.timeoutS": Row(
        1,
        "took too long",
        (answer(call("task", tasks=[{"agent": "task", "prompt": "Look"}])), answer(Gate("never")), DONE),
        ends_by_default=False,
    ),
    "memories.summaryInjectionTokenLimit": Row(
        0, "A word that lasts.", by_default=True, others={"memories.enabled": True}, memory="A word that lasts."
    ),
    "retry.enabled": Row(False, "Answered after all.", (BUSY, DONE), by_default=True, others=ONCE),
    "retry.requestMaxRetries": Row(
        0, "Answered after all.", (BUSY, DONE), by_default=True, others={"retry.maxRetries": 0}
    ),
    "retry.maxRetries": Row(0, "Answered after all.", (BUSY, DONE), by_default=True, others=ONCE),
    "retry.baseDelayMs": Row(1500, "in 2 s", (BUSY, DONE), others=ONCE),
    "retry.maxDelayMs": Row(
        1, "in 2 s", (BUSY, DONE), by_default=True, others={**ONCE, "retry": {"baseDelayMs": 1500}}
    ),
    "retry.maxElapsedMs": Row(
        1000, "try again at", (answer(Fail(429, "rate_limit_error", "slow down", {"retry-after": "2"})), DONE)
    ),
    "provider.requestTimeoutS": Row(
        1,
        "did not continue for 1 s",
        (answer(Gate("never")),),
        others={**ONCE, "retry.maxRetries": 0},
        ends_by_default=False,
    ),
    "secrets.enabled": Row(
        False,
        "tok-4711-very-secret",
        files={".env": "SERVICE_TOKEN=tok-4711-very-secret\n"},
        prompts=("It is tok-4711-very-secret.",),
        sent_only=True,
    ),
    "ttsr.builtinRules": Row(
        False,
        "goes against the rule",
        (
            answer(
                call("edit_create_file", path="a.py", content="<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n")
            ),
            DONE,
        ),
        by_default=True,
    ),
    "mcp.enableProjectConfig": Row(
        False,
        "No MCP servers are set up",
        prompts=("/mcp", "Go"),
        files={".mcp.json": '{"mcpServers": {"own": {"command": "true"}}}'},
    ),
    "shell.prefix": Row("echo prefixed-words;", "prefixed-words", run("echo other")),
    "shell.timeoutS": Row(1, "at most 1 s.", run("echo x")),
    "compaction.model": Row(
        "anthropic/opus-4-5",
        '"claude-opus-4-5-20251101"',
        (*(answer(Say("Yes."), usage(input=91_000 + number)) for number in range(3)), answer(Say('{"goal": "x"}'))),
        ("First " + "long " * 50_000, "Second", "Third", "/compact"),
    ),
    "selectedModel": Row("opus-4-5", '"claude-opus-4-5-20251101"'),
    "mode.default": Row("ask", offer("edit_create_file"), by_default=True),
    "thinking.level": Row("minimal", '"budget_tokens": 1024'),
    "provider.maxOutputTokens": Row(2000, '"max_tokens": 12000'),
    "providers.cacheRetention": Row("long", '"ttl": "1h"'),
    "modelRoles": Row({"fast": "opus-4-5"}, '"claude-opus-4-5-20251101"', prompts=("/model fast", "Go")),
    "serviceTier": Row("flex", "serviceTier (flex) is ignored", prompts=("/model opus-4-5", "Go")),
    "enabledModels": Row(
        ["anthropic/*"], "may not be used here", prompts=("/model gpt-5", "Go"), environ={"OPENAI_API_KEY": "k"}
    ),
    "disabledProviders": Row(
        ["openai"], "may not be used here", prompts=("/model gpt-5", "Go"), environ={"OPENAI_API_KEY": "k"}
    ),
    "edits.variant": Row("patch", offer("edit_patch")),
    "task.enabled": Row(False, offer("task"), by_default=True),
    "task.maxRecursionDepth": Row(0, offer("task"), by_default=True),
    "web_fetch.enabled": Row(False, offer("web_fetch"), by_default=True),
    "web_search.enabled": Row(False, offer("web_search"), by_default=True, environ={"BRAVE_API_KEY": "k"}),
    "searxng.endpoint": Row("http://127.0.0.1:9", offer("web_search")),
    "exa.enableSearch": Row(False, offer("web_search"), by_default=True, environ={"EXA_API_KEY": "k"}),
    "exa.enabled": Row(False, offer("web_search"), by_default=True, environ={"EXA_API_KEY": "k"}),
    "rules.maxBytes": Row(100, "[truncated", files={".north/rules/long.md": "A rule of many words.\n" * 50}),
    "disabledRules": Row(
        ["mine"], "A rule of mine.", by_default=True, files={".north/rules/mine.md": "A rule of mine."}
    ),
    "ttsr.enabled": Row(
        False,
        "goes against the rule",
        (*use("edit_create_file", path="a.py", content=BAD)[:1], DONE),
        by_default=True,
        files={".north/rules/no-eval.md": RULE},
    ),
    "ttsr.interruptMode": Row(
        "never",
        "system-interrupt",
        (*use("edit_create_file", path="a.py", content=BAD)[:1], DONE),
        by_default=True,
        files={".north/rules/no-eval.md": RULE},
    ),
    "shell.persistent": Row(False, "<kept>", (*run("MINE=kept")[:1], *run('echo "<$MINE>"')), by_default=True),
    "shell.virtualTerminal": Row(
        "off", "<a terminal>", run('test -t 1 && echo "<a""  terminal>" | tr -s " "'), by_default=True
    ),
    "shell.env": Row({"MINE": "set"}, "<set>", run('echo "<$MINE>"')),
    "shell.passKeys": Row(
        True, "<8 long>", run('echo "<${#ANTHROPIC_API_KEY} long>"'), environ={"ANTHROPIC_API_KEY": "test-key"}
    ),
    "shell.passVariables": Row(
        ["SERVICE_TOKEN"], "<9 long>", run('echo "<${#SERVICE_TOKEN} long>"'), environ={"SERVICE_TOKEN": "123456789"}
    ),
    "shell.interceptor.enabled": Row(False, "Command-line tool", run("head -2 json/tool.py")),
    "shell.interceptor.rules": Row(
        [{"name": "mine", "pattern": "^echo", "tool": "read_file", "reason": "Nothing is echoed here."}],
        "Nothing is echoed here.",
        run("echo two"),
    ),
    "branchSummary.reserveTokens": Row(
        199_900,
        "(What came before is left out.)",
        tuple(answer(Say(f"Answer {number}.")) for number in range(3)),
        ("First " + "long " * 200, "Second " + "long " * 200, "/rewind 1 conversation summarize"),
        others={"branchSummary.enabled": True},
        sent_only=True,
    ),
    "limits.searchSeconds": Row(
        1,
        "took longer than 1 s",
        use("search_text", query="(a+)+(?=$)", regex=True),
        files={"slow.txt": "a" * 40 + "!\n"},
        ends_by_default=False,
    ),
    "limits.readmeKb": Row(
        1,
        "the last line of it",
        use("read_readme"),
        by_default=True,
        files={"README.md": "A line of many words here.\n" * 80 + "the last line of it\n"},
    ),
    "limits.rootEntries": Row(20, "top29.md", use("list_root"), by_default=True, files=MANY),
    "limits.hotfiles": Row(5, "limit is 5, its maximum", use("hotfiles", limit=50)),
    "limits.codeBlocks": Row(
        1,
        "def f1(x)",
        use("find_code_block", query="return x", path="many.py"),
        by_default=True,
        files={"many.py": python(3)},
    ),
    "limits.symbols": Row(
        20, "f39", use("get_file_symbols", path="many.py"), by_default=True, files={"many.py": python(40)}
    ),
    "limits.outlineEntries": Row(
        20, "f39", use("get_file_outline", path="many.py"), by_default=True, files={"many.py": python(40)}
    ),
    "limits.blocks": Row(20, "s59", use("find_blocks", path="page.html"), by_default=True, files={"page.html": HTML}),
    "limits.outputLines": Row(
        50,
        "<line 100>",
        run('for n in $(seq 200); do echo "<line $n>"; done'),
        by_default=True,
        others={"digest.enabled": False},
    ),
}

ELSEWHERE: dict[str, dict[str, str]] = {
    "end_to_end/test_unsaved.py": {"sessions.save": "test_it_leaves_nothing"},
    "tools/test_digests.py": {"limits.artifactsMb": "test_numbers_go_on_and_old_outputs_make_room"},
    "acp/test_settings_file.py": {
        "log.level": "test_the_level_of_the_log_is_a_setting",
        "edits.tolerance": "test_a_change_counts_from_the_next_prompt_and_what_is_wrong_is_said",
    },
    "storage/test_diagnostics_log.py": {
        "log.maxBytes": "test_full_files_are_shifted_and_the_oldest_dropped",
        "log.files": "test_full_files_are_shifted_and_the_oldest_dropped",
    },
    "end_to_end/test_between_events.py": {
        "retry.streamMaxRetries": "test_giving_up_to_wait_for_the_rest_of_a_file",
    },
    "end_to_end/test_turns.py": {
        "retry.fallbackChains": "test_another_model_answers_where_the_user_has_named_one",
    },
    "end_to_end/test_guards.py": {
        "retry.fallbackRevertPolicy": "test_a_model_that_failed_may_be_out_for_good",
        "edits.streamGuard": "test_an_edit_that_may_apply_is_waited_for",
        "turn.maxRequests": "test_a_turn_has_a_limit_of_requests",
        "turn.nudgeUnappliedCode": "test_code_that_is_only_shown_is_noticed_where_the_user_wants_it",
    },
    "end_to_end/test_faults.py": {
        "provider.idleTimeoutS": "test_a_fault",
    },
    "end_to_end/test_settings_effects.py": {
        "sandbox": "test_a_project_has_its_commands_run_in_the_sandbox",
        "shell.alwaysAsk": "test_a_change_counts_from_the_next_prompt_on",
        "edits.protected": "test_a_change_counts_from_the_next_prompt_on",
        "limits.readLines": "test_a_change_counts_from_the_next_prompt_on",
        "limits.readKb": "test_a_change_counts_from_the_next_prompt_on",
        "limits.aroundLines": "test_a_change_counts_from_the_next_prompt_on",
        "limits.windowLines": "test_a_change_counts_from_the_next_prompt_on",
        "limits.files": "test_a_change_counts_from_the_next_prompt_on",
        "limits.matches": "test_a_change_counts_from_the_next_prompt_on",
        "disabledItems": "test_items_that_are_switched_off_are_not_offered",
    },
    "providers/catalog/test_extensions.py": {
        "disabledExtensions": "test_one_that_is_switched_off_is_not_loaded_and_what_is_not_there_is_said",
        "extensions": "test_those_that_the_settings_name_count_too_each_once",
    },
    "acp/test_shell.py": {
        "shell.useClientTerminal": "test_a_command_runs_in_the_editor_s_terminal_where_it_has_one",
    },
    "shell/test_pool.py": {
        "shell.path": "test_a_shell_that_is_not_there_is_named",
        "shell.snapshot": "test_the_users_own_functions_and_aliases_are_there_and_change_no_meaning",
    },
    "agent/shell/test_output.py": {
        "shell.minimize": "test_the_whole_is_kept_where_lines_are_left_out",
    },
    "tools/edit/test_edit_tools.py": {
        "edits.staleCheck": "test_an_unseen_text_is_not_replaced",
    },
    "end_to_end/test_file_blocks.py": {
        "edits.allowGenerated": "test_the_users_settings_hold_for_files_in_the_text_as_for_edits",
    },
    "lsp/test_saving.py": {
        "edits.saveAfterApply": "test_where_nothing_is_saved_the_user_and_the_model_are_told",
    },
    "agent/edits/test_shell_changes.py": {
        "checkpoints.shell": "test_the_setting_decides_whether_commands_have_checkpoints",
    },
    "acp/test_language.py": {
        "lsp.diagnosticsOnWrite": "test_nobody_is_asked_who_did_not_offer_it_or_with_the_setting_off",
        "lsp.enabled": "test_language_servers_can_be_left_alone",
    },
    "tools/support/test_limits.py": {
        "files.extraReadRoots": "test_extra_folders_are_read_by_their_absolute_paths",
        "files.indexLimit": "test_a_limited_index_has_what_is_open_and_what_changed_last",
        "limits.astMatches": "test_every_tool_keeps_to_the_limits_and_says_so",
    },
    "end_to_end/test_reading.py": {
        "digest.enabled": "test_the_whole_of_a_flood_is_kept",
    },
    "end_to_end/test_mcp.py": {
        "tools.discoveryThreshold": "test_tools_that_are_described_at_great_length_leave_room",
        "mcp.enabled": "test_the_setting_switches_all_of_them_off",
        "mcp.startupWaitMs": "test_whatever_a_server_does_the_turn_goes_on",
        "mcp.pingIntervalMs": "test_a_server_that_does_not_answer_while_it_is_idle_is_connected_to_again",
    },
    "providers/catalog/test_model_selection.py": {
        "modelProviderOrder": "test_the_settings_about_models",
    },
    "acp/test_models.py": {
        "thinking.show": "test_the_settings_say_how_much_and_whether_thoughts_are_shown",
    },
    "providers/catalog/test_discovery.py": {
        "discovery.local": "test_it_can_be_switched_off",
    },
    "lsp/test_inline_completion.py": {
        "completion.inline": "test_nothing_is_asked_while_it_is_off",
        "completion.nextEdits": "test_the_edit_that_follows_from_the_last_one_is_proposed",
    },
    "lsp/test_confirming.py": {
        "edits.confirmInEditor": "test_north_asks_where_the_editor_does_not",
    },
    "providers/test_factory.py": {
        "providers.kimiApiFormat": "test_kimi_is_asked_in_the_format_that_the_settings_say",
    },
    "web/test_search.py": {
        "providers.webSearch": "test_the_preferred_one_is_first_and_an_unusable_one_is_said",
        "searxng.categories": "test_the_settings_of_searxng_are_sent",
        "searxng.language": "test_the_settings_of_searxng_are_sent",
        "searxng.token": "test_the_settings_of_searxng_are_sent",
        "searxng.basicUsername": "test_the_settings_of_searxng_are_sent",
        "searxng.basicPassword": "test_the_settings_of_searxng_are_sent",
    },
    "storage/test_keyring.py": {
        "auth.storage": "test_what_is_wrong_is_said_and_nothing_is_stored_elsewhere",
    },
    "providers/keys/test_broker.py": {
        "auth.broker.url": "test_the_environment_names_one_before_the_settings",
        "auth.broker.token": "test_the_environment_names_one_before_the_settings",
    },
    "agent/turn/test_deltas.py": {
        "stream.flushMs": "test_text_is_gathered_for_the_time_that_the_user_set",
    },
    "end_to_end/test_queue.py": {
        "queue.defaultBehavior": "test_all_prompts_that_wait_may_be_taken_together",
        "steeringMode": "test_all_prompts_that_wait_may_be_taken_together",
        "followUpMode": "test_all_prompts_that_wait_may_be_taken_together",
        "interruptMode": "test_words_skip_calls_or_wait_for_them",
        "notifications": "test_attempts_are_told_as_events",
    },
    "end_to_end/test_commands_and_costs.py": {
        "cost.sessionLimitUsd": "test_a_limit_is_told_of_and_asked_about",
        "cost.dayLimitUsd": "test_a_limit_is_told_of_and_asked_about",
    },
    "end_to_end/test_room.py": {
        "contextPromotion.enabled": "test_where_no_other_model_can_go_on_nothing_is_sent",
        "compaction.enabled": "test_a_larger_model_goes_on_and_the_choice_stays",
    },
    "end_to_end/test_plugins.py": {
        "skills.enabled": "test_the_settings_say_which_skills_there_are",
        "skills.enableSkillCommands": "test_the_settings_say_which_skills_there_are",
        "skills.customDirectories": "test_the_settings_say_which_skills_there_are",
        "skills.ignoredSkills": "test_the_settings_say_which_skills_there_are",
        "skills.includeSkills": "test_the_settings_say_which_skills_there_are",
        "skills.enableNativeUser": "test_the_settings_say_which_skills_there_are",
        "skills.enableNativeProject": "test_the_settings_say_which_skills_there_are",
        "skills.enableClaudeUser": "test_the_settings_say_which_skills_there_are",
        "skills.enableClaudeProject": "test_the_settings_say_which_skills_there_are",
        "skills.enableCodexUser": "test_the_settings_say_which_skills_there_are",
        "agentModelOverrides": "test_an_agent_answers_with_the_model_that_the_settings_name",
    },
    "end_to_end/test_summaries.py": {
        "compaction.autoContinue": "test_it_does_not_where_the_user_does_not_want_it",
        "compaction.remoteEndpoint": "test_a_server_of_the_users_writes_the_summary",
    },
    "end_to_end/test_plan_mode.py": {
        "plan.inProject": "test_the_plan_is_kept_in_the_project_if_that_is_wanted",
    },
    "end_to_end/test_todo.py": {
        "todo.enabled": "test_reminders_and_the_tool_can_be_switched_off",
        "todo.reminders": "test_reminders_and_the_tool_can_be_switched_off",
        "tasks.todoClearDelay": "test_clients_are_told_how_long_what_is_closed_is_shown",
    },
    "end_to_end/test_ask.py": {
        "ask.timeout": "test_a_question_that_nobody_answers_in_time_takes_what_is_recommended_and_says_so",
    },
    "end_to_end/test_agents.py": {
        "task.maxConcurrency": "test_others_wait_until_a_slot_is_free",
        "task.maxRequests": "test_a_limit_of_requests_and_of_time_end_a_task",
    },
    "end_to_end/test_finding.py": {
        "sessions.autoTitle": "test_when_a_title_is_asked_for",
        "sessions.promptHistory": "test_prompts_are_not_kept_if_the_user_does_not_want_that",
    },
    "storage/test_janitor.py": {
        "sessions.maxAgeDays": "test_old_conversations_go_to_the_trash_if_the_user_wants_that",
    },
    "storage/test_conversation.py": {
        "sessions.fsync": "test_the_user_says_when_lines_are_brought_to_the_disk",
    },
    "agent/compaction/test_cut.py": {
        "compaction.reserveTokens": "test_the_settings_move_the_limits",
        "compaction.keepRecentTokens": "test_the_settings_move_the_limits",
    },
    "end_to_end/test_stream_rules.py": {
        "ttsr.contextMode": "test_after_a_gap_a_rule_is_told_again_and_a_kept_answer_stays",
        "ttsr.repeatMode": "test_after_a_gap_a_rule_is_told_again_and_a_kept_answer_stays",
        "ttsr.repeatGap": "test_after_a_gap_a_rule_is_told_again_and_a_kept_answer_stays",
    },
    "end_to_end/test_rewind.py": {
        "branchSummary.enabled": "test_a_slash_command_asks_if_the_user_wants_that",
    },
    "end_to_end/test_context.py": {
        "context.editorState": "test_the_editors_state_can_be_switched_off",
    },
    "end_to_end/test_learning.py": {
        "profile.offer": "test_nothing_is_offered_where_it_is_switched_off_or_not_trusted",
    },
    "end_to_end/test_memory.py": {
        "memories.enabled": "test_off_nothing_is_read_told_or_offered",
        "memories.minRolloutIdleHours": "test_only_conversations_that_ended_a_while_ago_and_have_changed_are_read",
        "memories.maxRolloutsPerStartup": "test_only_conversations_that_ended_a_while_ago_and_have_changed_are_read",
        "memories.maxRolloutAgeDays": "test_only_conversations_that_ended_a_while_ago_and_have_changed_are_read",
    },
    "acp/test_telemetry.py": {
        "telemetry.enabled": "test_a_collector_gets_the_turn_and_nothing_of_its_contents",
        "telemetry.endpoint": "test_a_collector_gets_the_turn_and_nothing_of_its_contents",
        "telemetry.content": "test_a_collector_gets_contents_if_the_user_wants_that_and_never_secrets",
    },
    "end_to_end/test_secrets.py": {
        "secrets.offIn": "test_the_user_can_switch_it_off",
    },
}
"""For each file, the settings that a test in it flips, and which one."""


async def seen(world: World, server: ModelServer, row: Row, settings: Mapping[str, object]) -> str:
    """What models are sent and the user is shown in a conversation with these settings."""
    given = {"retry.baseDelayMs": 8, **row.others, **settings}
    if "retry" in given:
        del given["retry.baseDelayMs"]
    (world.folder / "config" / "config.json").write_text(json.dumps(given))
    before = len(server.requests)
    server.script(*row.answers)
    async with inside(world.environ | dict(row.environ), row.model, {"events": True}) as client:
        client.handlers["session/request_permission"] = agree
        session = await opened(client, world)
        for text in row.prompts:
            await prompt(client, session, text)
    asked = [message for sender, message in client.transcript if sender == "agent" and "id" in message]
    server.drop()
    sent = [one.body for one in server.requests[before:]]
    return json.dumps(sent if row.sent_only else [sent, client.updates, asked], ensure_ascii=False)


def remembered(world: World, summary: str) -> None:
    """Have the project's memory say this."""
    locations = Locations(world.folder / "config", world.data, world.folder / "state")
    path = MemoryFiles(locations, project_hash(world.project)).folder / SUMMARY
    path.parent.mkdir(parents=True)
    path.write_text(summary)


@pytest.mark.parametrize("key", SEEN)
async def test_a_setting_is_seen(world: World, server: ModelServer, key: str) -> None:
    row = SEEN[key]
    write(world.project, dict(row.files))
    if row.memory:
        remembered(world, row.memory)
    flipped = await seen(world, server, row, {key: row.value})
    assert (row.words in flipped) == (not row.by_default), flipped[-3000:]
    if not row.ends_by_default:
        return
    by_default = await seen(world, server, row, {})
    assert (row.words in by_default) == row.by_default, by_default[-3000:]


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_each_setting_is_flipped_somewhere() -> None:
    keys = sorted(row.setting.key for row in declared(Settings).values())
    elsewhere = [key for tests in ELSEWHERE.values() for key in tests]
    assert sorted([*SEEN, *elsewhere]) == keys
    missing = [
        (file, name)
        for file, tests in ELSEWHERE.items()
        for name in tests.values()
        if name not in functions(TESTS / file)
    ]
    assert missing == []
