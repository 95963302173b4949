"""Files of this repository that are generated: from the declarations of the settings, the schema in the VS Code
extension and the table on the settings page; from the tools, the schemas of their arguments.
`python -m tests.support.generated_files` writes them again."""

import json
from pathlib import Path
from typing import Any

from north_lsp.storage.setting import Declared, declared
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_schema import json_schema, value_schema
from north_lsp.tools.builtin import builtin_tools
from north_lsp.tools.registry import make_schema
from north_lsp.tools.support.discovery import SearchTools

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "vscode-client" / "config.schema.json"
PAGE = ROOT / "docs" / "settings.md"
TOOLS = ROOT / "north_lsp" / "tools" / "schemas.json"
_BEGIN, _END = "<!-- Made by `just generate` from the declarations. -->\n\n", "\n<!-- End of what is made. -->\n"


def generated() -> dict[Path, str]:
    """Return what each of the files must contain."""
    before, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    schema = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    return {SCHEMA: schema, PAGE: before + _BEGIN + table() + _END + after, TOOLS: tool_schemas()}


def tool_schemas() -> str:
    """Return the schemas of the arguments of all tools, by the names of their models."""
    models = [tool.args for tool in (*builtin_tools().tools(), SearchTools())]
    schemas = {model.__name__: make_schema(model) for model in sorted(models, key=lambda model: model.__name__)}
    assert len(schemas) == len(models), "two models of arguments have one name"
    rows = (f"  {json.dumps(name)}: {json.dumps(schema, ensure_ascii=False)}" for name, schema in schemas.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


def table() -> str:
    """Return all settings as a table, in the order of their keys."""
    rows = sorted(declared(Settings).values(), key=lambda row: row.setting.key.casefold())
    return "".join(["| key | default | values | meaning |\n|---|---|---|---|\n", *map(_row, rows)])


def _row(row: Declared) -> str:
    setting, schema = row.setting, value_schema(row)
    key = ", ".join(f"`{name}`" for name in (setting.key, *setting.aliases)) + (" ↻" if setting.restart else "")
    key += {"no": "", "yes": " †", "stricter": " ‡"}[setting.project]
    default = f"`{json.dumps(schema['default'])}`" if "default" in schema else "–"
    text = setting.text.replace("|", "\\|")
    return f"| {key} | {default} | {_values(schema)} | {text} |\n"


def _values(schema: dict[str, Any]) -> str:
    match schema:
        case {"enum": names}:
            return ", ".join(f"`{json.dumps(name)}`" for name in names)
        case {"type": "boolean"}:
            return "`true`, `false`"
        case {"minimum": low, "maximum": high}:
            return f"{low:,} to {high:,}"
        case {"minimum": low}:
            return f"{low:,} or more"
        case {"type": "string"}:
            return "string"
        case {"type": "array", "items": {"type": "string"}}:
            return "list of strings"
        case {"type": "object", "additionalProperties": {"type": "string"}}:
            return "object of strings"
        case {"type": "object", "additionalProperties": {"type": "array"}}:
            return "object of lists of strings"
        case {"type": "array"}:
            return "list of objects"
        case _:
            return "list of texts and objects"


def main() -> None:
    """Write the files."""
    for path, text in generated().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
