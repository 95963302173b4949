"""ACP's `initialize` as a pure function: what the client can do, and what North answers. Imports nothing that loads
slowly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from north_lsp import __version__
from north_lsp.lazy_dataclass import dataclass
from north_lsp.rpc.messages import Params, invalid_params

STABLE, DRAFT = 1, 2
"""ACP's versions that North speaks; a client that asks for another one gets the latest."""
EXTENSION_VERSION = 1
KEY_METHOD = "api-key"
SIGN_IN_METHOD = "sign-in:"
"""How the ids of the methods that sign in to a provider begin; its id follows."""
EXTENSION_METHODS = (
    "_north/agents/list",
    "_north/artifacts/list",
    "_north/artifacts/read",
    "_north/abort",
    "_north/abortAndPrompt",
    "_north/calls/stop",
    "_north/config/editor",
    "_north/config/get",
    "_north/config/list",
    "_north/config/reset",
    "_north/config/set",
    "_north/context",
    "_north/checkpoints/diff",
    "_north/checkpoints/list",
    "_north/checkpoints/name",
    "_north/checkpoints/changes",
    "_north/checkpoints/restore",
    "_north/costs/get",
    "_north/goal/get",
    "_north/goal/set",
    "_north/keys/list",
    "_north/keys/remove",
    "_north/keys/set",
    "_north/learned/list",
    "_north/log/get",
    "_north/look",
    "_north/models/list",
    "_north/followUp",
    "_north/paths/complete",
    "_north/queue/edit",
    "_north/queue/list",
    "_north/queue/withdraw",
    "_north/permissions/list",
    "_north/permissions/revoke",
    "_north/trust",
    "_north/prompts/history",
    "_north/sessions/archive",
    "_north/sessions/branch",
    "_north/sessions/find",
    "_north/sessions/export",
    "_north/sessions/import",
    "_north/sessions/label",
    "_north/sessions/last",
    "_north/sessions/list",
    "_north/sessions/rename",
    "_north/sessions/takeOver",
    "_north/sessions/replaced",
    "_north/sessions/restore",
    "_north/sessions/rewind",
    "_north/sessions/salvage",
    "_north/sessions/search",
    "_north/sessions/stats",
    "_north/sessions/trash",
    "_north/sessions/tree",
    "_north/retry/abort",
    "_north/retry/now",
    "_north/state/get",
    "_north/state/set",
    "_north/steer",
    "_north/storage/get",
    "_north/tasks/cancel",
    "_north/tasks/list",
    "_north/tasks/transcript",
    "_north/todo/get",
    "_north/todo/set",
    "_north/turn/resume",
    "_north/work/get",
)


@dataclass(frozen=True, slots=True)
class Client:
    """What the client announced, and whether the user wants to see thoughts, to be notified, and for how long to see
    what is closed in the todo list; nothing else is asked of a client. `knows_north`: it announced a North extension or
    opted in; other clients are only sent what every client can handle."""

    name: str | None = None
    version: str | None = None
    reads_files: bool = False
    writes_files: bool = False
    shows_notices: bool = False
    reviews_hunks: bool = False
    has_terminals: bool = False
    shows_thoughts: bool = True
    hears_events: bool = False
    wants_attention: bool = True
    clears_todo_s: int = 60
    has_ui: bool = True
    knows_north: bool = False
    has_language_features: bool = False
    resumes_turns: bool = False
    comes_back: bool = False
    shows_compactions: bool = False
    fills_forms: bool = False
    opens_pages: bool = False
    switches_options: bool = False
    updates_plans: bool = False
    shows_children: bool = False
    protocol: int = STABLE

    @property
    def gets_extension(self) -> bool:
        """Whether North's own fields are sent. In version 2, the peer leaves them out."""
        return self.knows_north or self.protocol == DRAFT


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def read_client(params: Params) -> Client:
    """Read the client's capabilities strictly: an unknown or malformed one counts as absent."""
    protocol = negotiated(params)
    is_draft = protocol == DRAFT
    capabilities = _mapping(params.get("capabilities" if is_draft else "clientCapabilities"))
    files = _mapping(None if is_draft else capabilities.get("fs"))
    session = _mapping(capabilities.get("session"))
    info = _mapping(params.get("info" if is_draft else "clientInfo"))
    elicitation = _mapping(capabilities.get("elicitation"))
    meta = _mapping(capabilities.get("_meta")).get("north")
    north = _mapping(meta)
    name, version = info.get("name"), info.get("version")
    return Client(
        name if isinstance(name, str) else None,
        version if isinstance(version, str) else None,
        files.get("readTextFile") is True,
        files.get("writeTextFile") is True,
        is_draft or isinstance(session.get("notices"), dict),
        north.get("hunks") is True,
        not is_draft and capabilities.get("terminal") is True,
        hears_events=north.get("events") is True,
        has_ui=north.get("hasUI") is not False,
        knows_north=isinstance(meta, dict),
        has_language_features=north.get("languageFeatures") is True,
        resumes_turns=north.get("resumesTurns") is True,
        comes_back=north.get("comesBack") is True,
        shows_compactions=is_draft or isinstance(session.get("compaction"), dict),
        fills_forms=isinstance(elicitation.get("form"), dict),
        opens_pages=isinstance(elicitation.get("url"), dict),
        switches_options=is_draft or isinstance(_mapping(session.get("configOptions")).get("boolean"), dict),
        updates_plans=is_draft or isinstance(capabilities.get("plan"), dict),
        shows_children=is_draft or isinstance(capabilities.get("subagents"), dict),
        protocol=protocol,
    )


def negotiated(params: Params) -> int:
    """Return the version that a connection has: the one that the client asked for, else the latest."""
    version = params.get("protocolVersion")
    return STABLE if version == STABLE or not isinstance(version, int) or isinstance(version, bool) else DRAFT


def read_settings(params: Params) -> dict[str, Any]:
    """Read the settings, by their keys, that the user has made in the client."""
    announced = params.get("capabilities" if negotiated(params) == DRAFT else "clientCapabilities")
    return _mapping(_mapping(_mapping(_mapping(announced).get("_meta")).get("north")).get("settings"))


def initialize_result(params: Params, sign_ins: Sequence[str] = ()) -> dict[str, Any]:
    """Return the answer to `initialize`; `sign_ins` are the providers that users sign in to. Raises RpcError if the
    protocol version is not an integer."""
    version = params.get("protocolVersion")
    if not isinstance(version, int) or isinstance(version, bool):
        raise invalid_params("protocolVersion", "must be an integer")
    return _stable_result(params, sign_ins) if negotiated(params) == STABLE else _draft_result(params, sign_ins)


def _draft_result(params: Params, sign_ins: Sequence[str]) -> dict[str, Any]:
    """Return the answer in the form of version 2."""
    found = _stable_result(params, sign_ins)
    announced = found["agentCapabilities"]
    prompt: dict[str, Any] = {name: {} for name, offered in announced["promptCapabilities"].items() if offered}
    session: dict[str, Any] = {"prompt": prompt, "delete": {}, "additionalDirectories": {}}
    session |= {name: {} for name in ("fork", "archive", "status", "title")}
    session |= {"mcp": {"stdio": {}, "http": {}, "acp": {}}}
    methods = [{"type": "agent", **one, "methodId": one["id"]} for one in found["authMethods"]]
    return {
        "protocolVersion": DRAFT,
        "info": found["agentInfo"],
        "capabilities": {"session": session, "auth": {"status": {}}, "providers": {}, "_meta": announced["_meta"]},
        "authMethods": [{key: value for key, value in one.items() if key != "id"} for one in methods],
    }


def _stable_result(params: Params, sign_ins: Sequence[str]) -> dict[str, Any]:
    """Return the answer in the form of version 1."""
    return {
        "protocolVersion": STABLE,
        "agentInfo": {"name": "north", "title": "North", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True, "acp": True},
            "sessionCapabilities": {
                "list": {},
                "resume": {},
                "fork": {},
                "archive": {},
                "status": {},
                "title": {},
                "close": {},
                "delete": {},
                "additionalDirectories": {},
            },
            "auth": {"status": {}, "logout": {}},
            "providers": {},
            "_meta": {"north": {"version": EXTENSION_VERSION, "methods": list(EXTENSION_METHODS)}},
        },
        "authMethods": _auth_methods(params, sign_ins),
    }


def _auth_methods(params: Params, sign_ins: Sequence[str]) -> list[dict[str, Any]]:
    """Return the ways to sign in. The terminal is offered only to a client that can open one."""
    methods: list[dict[str, Any]] = [
        {
            "id": KEY_METHOD,
            "name": "API key",
            "description": "Uses the key that is stored with `north-lsp login`, or set in the environment.",
        }
    ]
    words = {"description": "Opens the provider's page in a browser on the machine that North runs on."}
    methods += [{"id": f"{SIGN_IN_METHOD}{id}", "name": f"Sign in to {id}", **words} for id in sign_ins]
    is_draft = negotiated(params) == DRAFT
    announced = _mapping(_mapping(params.get("capabilities" if is_draft else "clientCapabilities")).get("auth"))
    terminal = announced.get("terminal")
    if terminal is True or (is_draft and isinstance(terminal, dict)):
        words = {"name": "Paste an API key", "description": "Stores a provider's key, or signs you in."}
        methods.append({"type": "terminal", "id": "login", **words, "args": ["--login"]})
    return methods
