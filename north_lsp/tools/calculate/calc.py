"""`calc`: evaluates an expression exactly."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.display import one_line
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.calculate.expression import LONGEST, evaluate
from north_lsp.workspace.workspace import Workspace


class CalcArgs(Arguments):
    expression: str = Field(min_length=1, max_length=LONGEST)


class Calc(ReadTool):
    name = "calc"
    kind = "other"
    discoverable = True
    args = CalcArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Calculating {one_line(str(args.get('expression', '…')), 60)}"

    async def run(self, args: CalcArgs, workspace: Workspace) -> Output:
        value = evaluate(args.expression)
        data: dict[str, object] = {"value": value.shown(), "exact": value.exact}
        number = value.number
        if value.exact and number.denominator != 1 and number.denominator < 10**12:
            data["fraction"] = f"{number.numerator}/{number.denominator}"
        return Output(f"{self.title({'expression': args.expression})} - {one_line(value.shown(), 40)}", data)
