"""The oracle: the official ACP JSON Schema, from the npm package that `package.json` pins. It is not committed."""

import fcntl
import functools
import json
import os
import shutil
import subprocess
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft202012Validator

from tests.support.message_shapes import Shapes

Side = Literal["agent", "client"]
_HERE = Path(__file__).parent
_VERSION = "2.4.0"
_DRAFT = (
    "ArchiveSessionResponse",
    "AuthAccount",
    "AuthState",
    "AuthStatusResponse",
    "AuthStatusUpdateNotification",
    "DisableProviderResponse",
    "ErrorStopReason",
    "ForkSessionResponse",
    "IdleStateUpdate",
    "ListProvidersResponse",
    "LlmProtocol",
    "McpCapabilities",
    "McpRequestId",
    "McpServerAcpId",
    "MessageMcpRequest",
    "PlanFile",
    "PlanId",
    "PlanItems",
    "PlanMarkdown",
    "PlanUpdate",
    "PlanUpdateContent",
    "ProviderCurrentConfig",
    "ProviderId",
    "ProviderInfo",
    "RequiresActionStateUpdate",
    "RunningStateUpdate",
    "SessionCancelCapabilities",
    "SessionStatus",
    "SessionStatusResponse",
    "SetProviderResponse",
    "SetSessionTitleResponse",
    "StateUpdate",
    "SubagentSessionCapabilities",
    "SubagentUpdate",
    "UnarchiveSessionResponse",
    "UnknownStateUpdate",
    "Usage",
)
_DRAFT_UPDATES = ("plan_update", "subagent_update")
"""What North uses of the draft, besides what is announced as stable."""
_DRAFT_2 = (
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "ArchiveSessionResponse",
    "AuthAccount",
    "AuthState",
    "AuthStatusCapabilities",
    "AuthStatusResponse",
    "AuthStatusUpdateNotification",
    "DisableProviderResponse",
    "ForkSessionResponse",
    "ListProvidersResponse",
    "LlmProtocol",
    "McpAcpCapabilities",
    "McpCapabilities",
    "McpRequestId",
    "McpServerAcpId",
    "MessageMcpRequest",
    "ProviderCurrentConfig",
    "ProviderId",
    "ProviderInfo",
    "ProvidersCapabilities",
    "SessionArchiveCapabilities",
    "SessionCancelCapabilities",
    "SessionCapabilities",
    "SessionForkCapabilities",
    "SessionInfo",
    "SessionStatus",
    "SessionStatusCapabilities",
    "SessionStatusResponse",
    "SessionSystemPromptCapabilities",
    "SessionSystemPromptModeCapabilities",
    "SessionTitleCapabilities",
    "SetProviderResponse",
    "SetSessionTitleResponse",
    "SubagentSessionCapabilities",
    "SubagentUpdate",
    "UnarchiveSessionResponse",
)
"""The same of version 2: what is marked as unstable in it."""


def _schema_file() -> Path:
    """Return the schema's path in the tests' cache, installing the schema on first use."""
    cache = Path(os.environ.get("NORTH_TEST_CACHE", Path.home() / ".cache" / "north-tests")) / f"acp-schema-{_VERSION}"
    path = cache / "node_modules" / "@agentclientprotocol" / "sdk" / "schema" / "v1" / "schema.json"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            npm = shutil.which("npm")
            if npm is None:
                raise RuntimeError("npm is needed to fetch the ACP schema: install Node")
            shutil.copy(_HERE / "package.json", cache / "package.json")
            flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
            subprocess.run([npm, "install", *flags], cwd=cache, check=True, capture_output=True)
    return path


def sdk_folder() -> Path:
    """Return the folder of the official TypeScript SDK, from the same package."""
    return _schema_file().parent.parent.parent


def _second(folder: Path) -> dict[str, Any]:
    """The schema of version 2, with what North uses of its unstable part."""
    schema: dict[str, Any] = json.loads((folder / "schema.json").read_text("utf-8"))
    draft = json.loads((folder / "schema.unstable.json").read_text("utf-8"))["$defs"]
    missing = [name for name in _DRAFT_2 if name not in draft]
    assert not missing, missing
    schema["$defs"] |= {name: draft[name] for name in _DRAFT_2}
    updates = schema["$defs"]["SessionUpdate"]["anyOf"]
    updates[-1:-1] = [one for one in draft["SessionUpdate"]["anyOf"] if _kind(one) == "subagent_update"]
    return schema


def _kind(update: Mapping[str, Any]) -> object:
    return update.get("properties", {}).get("sessionUpdate", {}).get("const")


class Oracle:
    """Checks messages. Every complaint is an AssertionError that shows the message and the schema's error."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._defs: dict[str, Any] = schema["$defs"]
        self._validators: dict[str, Draft202012Validator] = {}
        self._shapes = Shapes(self._defs)
        self._valid: set[Hashable] = set()
        self._params: dict[str, str] = {}
        self._results: dict[str, str] = {}
        for name, definition in self._defs.items():
            if (method := definition.get("x-method")) is not None:
                table = self._results if name.endswith("Response") else self._params
                table[method] = name
        union = self._defs["SessionUpdate"]
        self._updates = {
            variant["properties"]["sessionUpdate"]["const"]: variant["allOf"][0]["$ref"].rsplit("/", 1)[-1]
            for variant in (union["oneOf"] if "oneOf" in union else union["anyOf"][:-1])
        }

    @classmethod
    @functools.cache
    def load(cls, version: int = 1) -> "Oracle":
        """Load the schema of a version of the protocol."""
        path = _schema_file()
        if version == 2:
            return cls(_second(path.parent.parent / "v2"))
        schema = json.loads(path.read_text("utf-8"))
        draft = json.loads(path.with_name("schema.unstable.json").read_text("utf-8"))
        schema["$defs"] |= {name: draft["$defs"][name] for name in _DRAFT}
        schema["$defs"]["SessionUpdate"]["oneOf"] += [
            one
            for one in draft["$defs"]["SessionUpdate"]["oneOf"]
            if one["properties"]["sessionUpdate"]["const"] in _DRAFT_UPDATES
        ]
        return cls(schema)

    def check_request(self, method: str, params: object, side: Side) -> None:
        self._check_params(method, params)

    def check_notification(self, method: str, params: object, side: Side) -> None:
        self._check_params(method, params)

    def check_result(self, method: str, result: object, side: Side) -> None:
        if method.startswith("_"):
            return
        assert method in self._results, f"{method} is not an ACP request"
        self._validate(self._results[method], result)

    def _check_params(self, method: str, params: object) -> None:
        if method.startswith("_"):
            return
        assert method in self._params, f"{method} is not an ACP method"
        if method == "session/update" and isinstance(params, Mapping):
            update = params["update"]
            kind = update["sessionUpdate"]
            assert kind in self._updates, f"unknown update {kind}"
            fields = {name: value for name, value in update.items() if name != "sessionUpdate"}
            self._validate(self._updates[kind], fields)
        self._validate(self._params[method], params)

    def _validate(self, name: str, value: object) -> None:
        shape = name, self._shapes.of(value)
        if shape not in self._valid:
            self._validate_whole(name, value)
            self._valid.add(shape)

    def _validate_whole(self, name: str, value: object) -> None:
        validator = self._validators.get(name)
        if validator is None:
            schema = {"$defs": self._defs, "$ref": f"#/$defs/{name}"}
            validator = self._validators[name] = Draft202012Validator(schema)
        errors = sorted(validator.iter_errors(value), key=lambda error: len(list(error.absolute_path)))
        assert not errors, f"{name}: {errors[-1].message} at {errors[-1].json_path} in {json.dumps(value)[:2000]}"
        if "properties" in self._defs[name] and isinstance(value, Mapping):
            unknown = set(value) - self._keys(self._defs[name])
            assert not unknown, f"{name}: unknown keys {unknown} in {json.dumps(value)[:2000]}"

    def _keys(self, definition: Mapping[str, Any]) -> set[str]:
        """Return the keys of an object, those of all its variants included."""
        keys = set(definition.get("properties", ()))
        if (reference := definition.get("$ref")) is not None:
            keys |= self._keys(self._defs[reference.rsplit("/", 1)[-1]])
        for group in ("allOf", "anyOf", "oneOf"):
            for part in definition.get(group, ()):
                keys |= self._keys(part)
        return keys

    def check_transcript(self, lines: Iterable[tuple[Side, dict[str, Any]]]) -> None:
        """Check everything that the agent sent in one connection, in order, against the requests that the client
        sent."""
        asked: dict[tuple[Side, str], str] = {}
        for sender, message in lines:
            key = repr(message.get("id"))
            if "method" in message and "id" in message:
                asked[sender, key] = message["method"]
            if sender == "agent":
                self._check_agent(message, asked.get(("client", key)))

    def _check_agent(self, message: dict[str, Any], method: str | None) -> None:
        assert message.get("jsonrpc") == "2.0", message
        if "method" in message:
            assert not {"result", "error"} & set(message), message
            self._check_params(message["method"], message["params"])
            return
        assert ("result" in message) != ("error" in message), message
        assert set(message) <= {"jsonrpc", "id", "result", "error"}, message
        if "error" in message:
            error = message["error"]
            assert isinstance(error["code"], int), message
            assert error["message"].strip(), message
            assert "\n" not in error["message"], message
        elif method is not None:
            self.check_result(method, message["result"], "agent")
