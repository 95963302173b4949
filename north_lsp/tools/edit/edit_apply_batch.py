"""`edit_apply_batch`: makes one proposal of several edits, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, model_validator

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments, checked
from north_lsp.tools.base import is_growing
from north_lsp.tools.edit.argument_coercion import INNER, decoded
from north_lsp.tools.edit.drafting import Draft, EditTool

_MAX_EDITS = 50


class BatchItem(Arguments):
    tool: str = Field(description="The name of an edit tool.")
    args: dict[str, Any] = Field(description="Its arguments.")

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, value: Any) -> Any:
        """Accept arguments next to the tool's name, and the names that other APIs give to the parts of a call."""
        value = decoded(value)
        if not isinstance(value, dict):
            return value
        item = dict(value)
        if "tool" not in item and isinstance(item.get("name"), str):
            item["tool"] = item.pop("name")
        named = next((name for name in INNER if name in item), None)
        if "tool" in item and "args" not in item:
            rest = {name: one for name, one in item.items() if name != "tool"}
            return {"tool": item["tool"], "args": decoded(rest[named]) if named is not None else rest}
        return item | ({"args": decoded(item["args"])} if "args" in item else {})


class EditApplyBatchArgs(Arguments):
    edits: list[BatchItem] = Field(min_length=1, max_length=_MAX_EDITS, description="Applied in this order.")


class EditApplyBatch(EditTool):
    """Applies several edits as one; `tools` are those that a batch may hold, by name."""

    name = "edit_apply_batch"
    args = EditApplyBatchArgs
    in_parts = True

    def __init__(self, tools: Mapping[str, EditTool]) -> None:
        self._tools = dict(tools)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the tools that a batch may hold."""
        return tuple(self._tools)

    def title(self, args: dict[str, Any]) -> str:
        edits = args.get("edits")
        return f"Applying {len(edits)} edits" if isinstance(edits, list) else "Applying edits"

    def possible(self, arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        edits = arguments.get("edits")
        if not isinstance(edits, list):
            return
        if edits and _is_usable(edits[-1]):
            yield {"edits": edits}
        yield {"edits": edits[:-1]}

    async def edit(self, args: EditApplyBatchArgs, draft: Draft) -> None:
        for index, item in enumerate(args.edits):
            try:
                tool, parsed = self._parsed(item)
                await tool.edit(parsed, draft)
            except ToolError as error:
                raise ToolError(
                    error.code,
                    f"edits[{index}] ({item.tool}): {error.message}; nothing of the batch was applied",
                    error.hint,
                    {**error.details, "index": index},
                ) from error

    def _parsed(self, item: BatchItem) -> tuple[EditTool, Any]:
        tool = self._tools.get(item.tool)
        if tool is None:
            raise ToolError(
                "INVALID_INPUT",
                f"{item.tool!r} cannot be in a batch",
                f"a batch can hold {', '.join(sorted(self._tools))}",
            )
        return tool, checked(tool.args, item.args)


def _is_usable(item: object) -> bool:
    """Tell whether the last edit of a batch can be previewed; its last argument may be incomplete."""
    args = item.get("args") if isinstance(item, dict) else None
    return isinstance(args, dict) and is_growing(args)
