"""LSP's `initialize` as a pure function over a declared table of capabilities. Needs neither pygls nor lsprotocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from north_lsp import __version__
from north_lsp.lazy_dataclass import dataclass
from north_lsp.rpc.messages import Params
from north_lsp.uris import local_path

COMMANDS = (
    "north.action",
    "north.answer",
    "north.ask",
    "north.cancel",
    "north.listConversations",
    "north.loadConversation",
    "north.models",
    "north.newConversation",
    "north.openChat",
    "north.openConversation",
    "north.redo",
    "north.renewChat",
    "north.review",
    "north.review.accept",
    "north.review.reject",
    "north.run",
    "north.send",
    "north.setMode",
    "north.setModel",
    "north.steer",
    "north.undo",
)
_CLIENTS_OWN = ("north.redo", "north.undo")
"""What a client with the chat has commands of its own for: two of one name would be an error there."""
_EDITOR_FEATURES = (
    "codeActionProvider",
    "codeLensProvider",
    "completionProvider",
    "definitionProvider",
    "documentLinkProvider",
    "documentSymbolProvider",
    "foldingRangeProvider",
    "hoverProvider",
    "inlineCompletionProvider",
)
_TELL_LATE = ("Eglot",)
_DROP_RESULTS = ("helix",)
_LOSE_MESSAGES = ("emacs",)
"""lsp-mode: where it waits for an answer, it forgets what it has read together with that."""
_COMPARE_NO_VERSIONS = ("kakoune-lsp",)
"""They announce edits with versions, and make them whatever the text is."""
_ENCODINGS = ("utf-8", "utf-16", "utf-32")


@dataclass(frozen=True, slots=True)
class LspClient:
    """What the client announced, as far as North uses it. `acp` are the ACP initialization params of a client that
    opted in, else None; `folders` are the workspace folders, the main one first. `versioned_edits`: it does not touch a
    text that is newer than the edit; `one_text_an_edit`: it only checks the version of an edit's first text.
    `decides_in_documents`: it shows code lenses or code actions; `saves_files`: it answers `_north/saveFiles`;
    `is_asked_for_settings`: it answers `workspace/configuration`, and told none with `initialize`;
    `tells_own_settings`: it told some, so that what it tells later is the user's own, too, and not the folder's;
    `applies_edits`: it takes `workspace/applyEdit`; `shows_results`: it may do something with a command's result;
    `takes_diagnostics`: it shows `textDocument/publishDiagnostics`; `tells_late`: it tells of a change of its texts
    only when the user does something after it; `annotates`: it can have the user confirm an edit; `takes_next_edits`:
    it shows inline completion of several lines, and away from the cursor; `loses_messages`: those that it reads
    together with an answer; `uses_features`: it may ask for hover, completion and the like."""

    encoding: str
    folders: tuple[Path, ...]
    acp: dict[str, Any] | None
    versioned_edits: bool
    progress: bool
    process_id: int | None
    mode: str | None
    shows_documents: bool = False
    has_ui: bool = True
    decides_in_documents: bool = False
    refreshes_lenses: bool = False
    saves_files: bool = False
    one_text_an_edit: bool = False
    is_asked_for_settings: bool = False
    tells_own_settings: bool = False
    applies_edits: bool = False
    shows_results: bool = True
    takes_diagnostics: bool = False
    tells_late: bool = False
    annotates: bool = False
    takes_next_edits: bool = False
    loses_messages: bool = False
    uses_features: bool = True


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _capability(params: Params, *path: str) -> object:
    value: object = _mapping(params.get("capabilities"))
    for name in path:
        value = _mapping(value).get(name)
    return value


def _announced(params: Params, *path: str) -> bool:
    return _capability(params, *path) is True


def _north_options(params: Params) -> dict[str, Any]:
    return _mapping(_mapping(params.get("initializationOptions")).get("north"))


def _has_own_features(params: Params) -> bool:
    return _north_options(params).get("editorFeatures") is False


def read_token(params: Params) -> str | None:
    """Read the secret that a client presents over TCP; None if there is none."""
    token = _north_options(params).get("token")
    return token if isinstance(token, str) else None


def read_settings(params: Params) -> dict[str, Any]:
    """Read the settings, by their keys, that the user has made in the editor."""
    return _mapping(_north_options(params).get("settings"))


def changed_settings(params: Params) -> dict[str, Any] | None:
    """Read them from a `workspace/didChangeConfiguration`; None where it is not about North."""
    found = _mapping(params.get("settings")).get("north")
    return found if isinstance(found, dict) else None


def read_client(params: Params) -> LspClient:
    """Read the client's capabilities and options; anything malformed counts as absent."""
    options = _north_options(params)
    acp = None
    if options.get("acp") is True:
        info = {"clientInfo": params["clientInfo"]} if isinstance(params.get("clientInfo"), dict) else {}
        wanted = options.get("protocolVersion", 1)
        if isinstance(wanted, int) and not isinstance(wanted, bool):
            wanted = 1  # the draft has a connection of its own
        acp = {"protocolVersion": wanted, "clientCapabilities": options.get("clientCapabilities"), **info}
    process_id, mode = params.get("processId"), options.get("mode")
    # Neovim compares versions without announcing it, and only that of an edit's first text.
    name = _mapping(params.get("clientInfo")).get("name")
    is_neovim = name == "Neovim"
    return LspClient(
        choose_encoding(params),
        _folders(params),
        acp,
        is_neovim
        or (name not in _COMPARE_NO_VERSIONS and _announced(params, "workspace", "workspaceEdit", "documentChanges")),
        _announced(params, "window", "workDoneProgress"),
        process_id if isinstance(process_id, int) and 0 < process_id < 2**31 else None,
        mode if isinstance(mode, str) else None,
        _announced(params, "window", "showDocument", "support"),
        options.get("hasUI") is not False,
        any(isinstance(_capability(params, "textDocument", name), dict) for name in ("codeLens", "codeAction")),
        _announced(params, "workspace", "codeLens", "refreshSupport"),
        True in (options.get("saveFiles"), _north(acp).get("saveFiles")),
        is_neovim and acp is None,  # North's plugin checks all versions
        "settings" not in options and _announced(params, "workspace", "configuration"),
        options.get("settings") is not None,
        _announced(params, "workspace", "applyEdit"),
        options.get("showsResults", name not in _DROP_RESULTS) is not False,
        isinstance(_capability(params, "textDocument", "publishDiagnostics"), dict),
        name in _TELL_LATE,
        isinstance(_capability(params, "workspace", "workspaceEdit", "changeAnnotationSupport"), dict),
        True in (options.get("nextEdits"), _north(acp).get("nextEdits")),
        _mapping(params.get("clientInfo")).get("name") in _LOSE_MESSAGES,
        acp is None or not _has_own_features(params),
    )


def _north(acp: dict[str, Any] | None) -> dict[str, Any]:
    """Return North's part of the ACP capabilities of a client that opted in."""
    meta = _mapping(_mapping(_mapping(acp).get("clientCapabilities")).get("_meta"))
    return _mapping(meta.get("north"))


def choose_encoding(params: Params) -> str:
    """Return the client's first position encoding that North supports; UTF-16 if there is none."""
    offered = _mapping(_mapping(params.get("capabilities")).get("general")).get("positionEncodings")
    names = offered if isinstance(offered, list) else []
    return next((name for name in names if name in _ENCODINGS), "utf-16")


def local_folders(listed: object) -> list[Path]:
    """Return the local paths of a list of LSP workspace folders."""
    rows = listed if isinstance(listed, list) else []
    return [path for row in rows if (path := local_path(_mapping(row).get("uri"))) is not None]


def _folders(params: Params) -> tuple[Path, ...]:
    found = local_folders(params.get("workspaceFolders"))
    if not found and (root := local_path(params.get("rootUri"))) is not None:
        found = [root]
    if not found and isinstance(params.get("rootPath"), str):
        found = [Path(params["rootPath"])]
    return tuple(found)


def server_capabilities(params: Params) -> dict[str, Any]:
    """Return the capabilities, the same that pygls computes from the features North registers (a test compares the
    two)."""
    return {
        "positionEncoding": choose_encoding(params),
        "textDocumentSync": {"openClose": True, "change": 2, "save": False},
        "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor"]},
        "codeLensProvider": {"resolveProvider": False},
        "completionProvider": {"triggerCharacters": ["/", "@"]},
        "definitionProvider": True,
        "documentLinkProvider": {"resolveProvider": False},
        "documentSymbolProvider": True,
        "foldingRangeProvider": True,
        "hoverProvider": True,
        "inlineCompletionProvider": {},
        "executeCommandProvider": {"commands": list(COMMANDS)},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {},
        },
    }


def initialize_result(params: Params, acp_result: dict[str, Any] | None) -> dict[str, Any]:
    """Return the answer to `initialize`; for a client that opted in, ACP's own answer is in `experimental.north`."""
    capabilities = server_capabilities(params)
    if acp_result is not None:
        if _has_own_features(params):
            capabilities = {name: value for name, value in capabilities.items() if name not in _EDITOR_FEATURES}
        shared = [command for command in COMMANDS if command not in _CLIENTS_OWN]
        capabilities["executeCommandProvider"] = {"commands": shared}
        capabilities["experimental"] = {"north": acp_result}
    return {"capabilities": capabilities, "serverInfo": {"name": "north", "version": __version__}}
