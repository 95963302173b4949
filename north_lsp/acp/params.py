"""Reads the params of ACP's methods: errors name what is missing or wrong, and unknown params are ignored."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from north_lsp.agent.log.prompt import Attached, FileLink, Part, PicturePart, TextPart, split_uri
from north_lsp.display import counted, one_line
from north_lsp.rpc.messages import Params, RpcError, invalid_params


def text(params: Params, field: str) -> str:
    value = params.get(field)
    if not isinstance(value, str):
        raise invalid_params(field, "must be a string")
    return value


def optional_text(params: Params, field: str) -> str | None:
    return None if params.get(field) is None else text(params, field)


def optional_path(params: Params, field: str) -> Path | None:
    """Read an absolute path, which need not exist; None if there is none."""
    value = optional_text(params, field)
    if value is not None and not Path(value).is_absolute():
        raise invalid_params(field, "must be an absolute path")
    return Path(value) if value is not None else None


def flag(params: Params, field: str, *, default: bool = False) -> bool:
    value = params.get(field, default)
    if not isinstance(value, bool):
        raise invalid_params(field, "must be true or false")
    return value


def whole_number(params: Params, field: str, default: int, least: int) -> int:
    value = params.get(field, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise invalid_params(field, f"must be a whole number, {least} or more")
    return value


def absolute_folder(value: object, field: str) -> Path:
    """Read an absolute path as an existing folder. Raises RpcError."""
    if not isinstance(value, str) or "\0" in value or not Path(value).is_absolute():
        raise invalid_params(field, "must be an absolute path")
    path = Path(value)
    try:
        exists = path.is_dir()
    except OSError:
        exists = False
    if not exists:
        raise invalid_params(field, f"must be a folder that exists, not {value!r}")
    return path


def folders(params: Params) -> list[Path]:
    """Read `cwd` and the additional directories, in that order. Raises RpcError."""
    more = params.get("additionalDirectories")
    if more is None:
        more = []
    if not isinstance(more, list):
        raise invalid_params("additionalDirectories", "must be a list")
    named = [absolute_folder(params.get("cwd"), "cwd")]
    return named + [absolute_folder(value, f"additionalDirectories[{index}]") for index, value in enumerate(more)]


def refuse_system_prompt(params: Params) -> None:
    """Refuse the draft's `systemPrompt`, which is not announced: nobody's instructions are left out without a word.
    Raises RpcError."""
    if params.get("systemPrompt") is not None:
        raise invalid_params("systemPrompt", "cannot be used: North takes instructions from AGENTS.md and its rules")


def meta(params: Params) -> dict[str, object]:
    """Return `_meta`; empty if there is none."""
    found = params.get("_meta")
    return found if isinstance(found, dict) else {}


def north_text(params: Params, field: str) -> str | None:
    """Read a string from `_meta.north`; None if there is none."""
    north = meta(params).get("north")
    value = north.get(field) if isinstance(north, dict) else None
    return value if isinstance(value, str) else None


def north_flag(params: Params, field: str) -> bool:
    """Read a switch from `_meta.north`; off if there is none."""
    north = meta(params).get("north")
    return isinstance(north, dict) and north.get(field) is True


def prompt_parts(params: Params) -> tuple[Part, ...]:
    """Read the content blocks of a prompt. Raises RpcError for kinds that North did not announce."""
    blocks = params.get("prompt")
    if not isinstance(blocks, list):
        raise invalid_params("prompt", "must be a list of content blocks")
    return tuple(_part(block, f"prompt[{index}]") for index, block in enumerate(blocks))


def _part(block: object, field: str) -> Part:
    if not isinstance(block, dict):
        raise invalid_params(field, "must be a content block")
    match block.get("type"):
        case "text":
            return TextPart(text(block, "text"))
        case "resource_link":
            uri = text(block, "uri")
            if uri.lower().startswith("file:"):
                return FileLink(*split_uri(uri))
            return FileLink(uri) if "://" not in uri else TextPart(f"[{block.get('name')}]({uri})")
        case "resource":
            return _resource(block.get("resource"), f"{field}.resource")
        case "image":
            return _picture(block, field)
        case "audio":
            raise RpcError(
                -32602, f"invalid params: {field} is of type audio, which North does not accept", {"field": field}
            )
        case kind:
            raise invalid_params(field, f"is of the unknown type {kind!r}")


def _resource(resource: object, field: str) -> Part:
    """Read an embedded resource: a text, or bytes that may be a picture or a text; of any others, the model is told
    that they are there."""
    if not isinstance(resource, dict):
        raise invalid_params(field, "must be an object")
    uri = text(resource, "uri")
    if isinstance(resource.get("text"), str):
        return Attached(uri, resource["text"])
    if "blob" not in resource:
        raise invalid_params(field, "must have a text or a blob")
    data = _decoded(text(resource, "blob"), f"{field}.blob", "must be in base64")
    try:
        return PicturePart.of(data)
    except ValueError:
        pass
    if b"\0" not in data:
        try:
            return Attached(uri, data.decode("utf-8"))
        except UnicodeDecodeError:
            pass
    kind = resource.get("mimeType")
    what = one_line(kind, 60) if isinstance(kind, str) and kind else "an unknown kind"
    return Attached(uri, f"(not shown: {counted(len(data), 'byte')} of {what}, neither a text nor a picture)")


def _decoded(data: str, field: str, must: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise invalid_params(field, must) from None


def _picture(block: Params, field: str) -> PicturePart:
    """Read a picture. What it is, is told by its content, whatever `mimeType` says."""
    data = _decoded(text(block, "data"), f"{field}.data", "must be a picture in base64")
    try:
        return PicturePart.of(data)
    except ValueError as error:
        raise invalid_params(f"{field}.data", str(error)) from None
