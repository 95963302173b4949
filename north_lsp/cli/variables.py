"""The environment variables that North reads under its own name: the doctor knows them, and the page
`docs/configure/environment.md` lists them."""

from __future__ import annotations

VARIABLES = {
    "NORTH_MODEL": "which model answers, like `--model`",
    "NORTH_FAST_MODEL": "the model of the role `fast` (titles, summaries)",
    "NORTH_SLOW_MODEL": "the model of the role `slow`",
    "NORTH_PLAN_MODEL": "the model of the role `plan`",
    "NORTH_CONFIG_DIR": "where settings and `models.yml` are, instead of `~/.config/north`",
    "NORTH_DATA_DIR": "where conversations and keys are, instead of `~/.north`",
    "NORTH_STATE_DIR": "where the log and locks are, instead of `~/.local/state/north`",
    "NORTH_LOG_LEVEL": "what North writes to its log: `trace` (what models are sent), `debug`, `info`, `warn`, `error`",
    "NORTH_TIMING": "`1`: times of the start in the log",
    "NORTH_NO_NETWORK": "`1`: North connects to this machine only",
    "NORTH_CA_BUNDLE": "a PEM file with the certificates to trust, for a company's proxy",
    "NORTH_DISCOVERY": "`off`: do not look for model servers on this machine",
    "NORTH_BEDROCK": "`1`: offer Claude on Amazon Bedrock, with the AWS credentials of this machine",
    "NORTH_NO_TITLE": "`1`: do not have a model name conversations, like `sessions.autoTitle`",
    "NORTH_NO_SESSION": "`1`: new conversations are not saved, like `sessions.save`",
    "NORTH_NO_OFFER": "`1`: do not offer to learn the project, like `profile.offer`",
    "NORTH_NULL_PROMPT": "`1`: send no system text, to test models",
    "NORTH_NOTIFICATIONS": "`off`: no notices, like `notifications`",
    "NORTH_CACHE_RETENTION": "`long`: prompts are cached for an hour, like `providers.cacheRetention`",
    "NORTH_AUTH_BROKER_URL": "the address of a company's key broker, like `auth.broker.url`",
    "NORTH_AUTH_BROKER_TOKEN": "the token for it, like `auth.broker.token`",
    "NORTH_BASH_NO_CI": "`1`: commands do not get `CI=1`",
    "NORTH_NO_PTY": "`1`: commands print to a pipe instead of a terminal, like `shell.virtualTerminal`",
    "NORTH_SHELL_PREFIX": "words before every command, like `shell.prefix`",
    "NORTH_BLOCKED_AGENT": "the name of an agent that no model may use",
    "NORTH_TASK_MAX_OUTPUT_BYTES": "how much of an agent's answer the model that asked gets, in bytes",
    "NORTH_TASK_MAX_OUTPUT_LINES": "the same, in lines",
    "NORTH_TCP_TOKEN": "the token for `north-lsp lsp --tcp`, instead of a new one",
    "NORTH_OFFLINE_DELAY_MS": "milliseconds between the offline model's words",
    "NORTH_TEST_PROVIDER": "a file with a script that the model `north-test/test` plays",
}
SWITCHES = (
    "NORTH_TIMING", "NORTH_NO_NETWORK", "NORTH_DISCOVERY", "NORTH_BEDROCK", "NORTH_NO_TITLE", "NORTH_NO_SESSION",
    "NORTH_NO_OFFER", "NORTH_NULL_PROMPT", "NORTH_NOTIFICATIONS", "NORTH_BASH_NO_CI", "NORTH_NO_PTY",
)  # fmt: skip
"""Those of them that are on or off."""
NUMBERS = ("NORTH_TASK_MAX_OUTPUT_BYTES", "NORTH_TASK_MAX_OUTPUT_LINES", "NORTH_OFFLINE_DELAY_MS")
SET_BY_NORTH = {
    "NORTH_SESSION_ID": "in commands that North runs: the id of the conversation",
    "NORTH_COMMAND_ID": "in commands that North runs: how it finds their processes again",
}
_FILES_ARE_NOW = "lists of files are never older than the disk"
_NO_NOTEBOOK = "North has no Python of its own; commands run the project's"
WITHOUT_EFFECT = {
    "FS_SCAN_CACHE_TTL_MS": _FILES_ARE_NOW,
    "FS_SCAN_EMPTY_RECHECK_MS": _FILES_ARE_NOW,
    "FS_SCAN_CACHE_MAX_ENTRIES": "each root has one list of files, which is kept while it is open",
    "NORTH_MAX_AST_FILES": "no tool rewrites many files by a pattern",
    "NORTH_PY": _NO_NOTEBOOK,
    "NORTH_PYTHON_SKIP_CHECK": _NO_NOTEBOOK,
    "NORTH_PYTHON_GATEWAY_URL": _NO_NOTEBOOK,
    "NORTH_PYTHON_GATEWAY_TOKEN": _NO_NOTEBOOK,
}
"""Variables for what North does not have, each with why: whoever sets one is told."""
