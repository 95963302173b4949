"""Files of this repository that are generated from the code's tables: the schema in the VS Code extension, the table on
the settings page, what models are told of the tools, the catalog of models as JSON, the heads of North's own agents,
and the pages about variables, the command line and slash commands. `python -m tests.support.generated_files` writes
them again."""

import argparse
import json
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from north_lsp.agent.context.frontmatter import split_front
from north_lsp.cli.arguments import EXIT_CODES, Parser, options_of, parser, subparsers
from north_lsp.cli.commands import COMMANDS
from north_lsp.cli.variables import SET_BY_NORTH, VARIABLES, WITHOUT_EFFECT
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.slash.groups import grouped
from north_lsp.slash.registry import Commands
from north_lsp.storage.setting import Declared, declared
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_json_schema import json_schema, value_schema
from north_lsp.storage.settings_reader import NOT_HERE
from north_lsp.tools.base import Tool, descriptions
from north_lsp.tools.builtin import builtin_tools
from north_lsp.tools.support.search_tools import SearchTools

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "vscode-client" / "config.schema.json"
PAGE = ROOT / "docs" / "settings.md"
TOOLS = ROOT / "north_lsp" / "tools" / "shipped.json"
CATALOG = ROOT / "north_lsp" / "providers" / "catalog" / "catalog.json"
AGENTS = ROOT / "north_lsp" / "agent" / "subagents" / "bundled"
_CONFIGURE = ROOT / "docs" / "configure"
_MADE = "<!-- Made by `just generate` from the code's tables: change those. -->\n"
_BEGIN, _END = "<!-- Made by `just generate` from the declarations. -->\n\n", "\n<!-- End of what is made. -->\n"


def generated() -> dict[Path, str]:
    """Return what each of the files must contain."""
    before, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    schema = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    return {
        SCHEMA: schema,
        TOOLS: tool_table(),
        CATALOG: json.dumps(tomllib.loads(CATALOG.with_suffix(".toml").read_text("utf-8")), ensure_ascii=False) + "\n",
        AGENTS / "heads.json": agents_heads(),
        PAGE: before + _BEGIN + table() + _END + after,
        _CONFIGURE / "environment.md": environment(),
        _CONFIGURE / "command-line.md": command_line(),
        _CONFIGURE / "slash-commands.md": slash_commands(),
    }


def tool_table() -> str:
    """Return what has to be known of each tool before it is imported."""
    tools = (*builtin_tools().tools(), SearchTools())
    rows = (f"  {json.dumps(tool.name)}: {json.dumps(_tool_row(tool), ensure_ascii=False)}" for tool in tools)
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _tool_row(tool: Tool) -> dict[str, object]:
    kind = type(tool)
    return {
        "class": f"{kind.__module__.removeprefix('north_lsp.tools.')}:{kind.__name__}",
        "parts": list(getattr(tool, "parts", ())),
        "also": list(tool.also),
        "kind": tool.kind,
        "needs": sorted(tool.needs),
        "modes": sorted(tool.modes),
        "parallel": tool.parallel,
        "discoverable": tool.discoverable,
        "descriptions": descriptions(kind),
        "schema": tool.told()[1],
    }


def agents_heads() -> str:
    """Return what the files of North's own agents say at their heads."""
    heads = {path.name: split_front(path.read_text("utf-8")).fields for path in sorted(AGENTS.glob("*.md"))}
    return json.dumps(heads, indent=2, ensure_ascii=False) + "\n"


def environment() -> str:
    """Return the page of variables."""
    providers = load_catalog(ROOT / "no such folder", {}).providers
    lines = ["# Environment variables", "", _MADE]
    lines += [
        "Most of what they set can be set in `config.json`, too ([settings](../settings.md)). `north-lsp doctor` "
    ]
    lines[-1] += "names variables that begin with `NORTH_` and are none of these. Switches take `1`, `true`, `yes`, "
    lines[-1] += "`on`, and `0`, `false`, `no`, `off`.\n"
    lines += ["## North's own", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in (VARIABLES | SET_BY_NORTH).items()]
    lines += ["", "## Keys and addresses of providers", ""]
    lines += [
        "A stored key (`north-lsp login`) wins over a variable. Of several names, the first that is set counts.\n"
    ]
    lines += ["| provider | key | another address |", "|---|---|---|"]
    for one in providers:
        if one.credentials or one.base_url:
            keys = ", ".join(f"`{name}`" for name in one.credentials) or "–"
            lines.append(f"| {one.title} (`{one.id}`) | {keys} | {f'`{one.base_url}`' if one.base_url else '–'} |")
    lines += ["", "## Others that count", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in _OTHERS]
    lines += ["", "## Without effect", ""]
    lines += ["These are for what North does not have. `north-lsp doctor` names those that are set.\n"]
    lines += ["| variable | why |", "|---|---|", *(f"| `{name}` | {why} |" for name, why in WITHOUT_EFFECT.items())]
    return "\n".join([*lines, ""])


_OTHERS = (
    ("`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`", "the proxy that requests to models go through"),
    ("`XDG_CONFIG_HOME`, `XDG_STATE_HOME`", "where the folders of settings and of the log are made; not on Windows"),
    ("`NO_COLOR`, `FORCE_COLOR`, `TERM=dumb`", "no colors on the command line; colors in a pipe, too; no colors"),
    ("`CLAUDE_BASH_NO_CI`, `CLAUDE_CODE_SHELL_PREFIX`", "like `NORTH_BASH_NO_CI` and `NORTH_SHELL_PREFIX`"),
    ("`GITHUB_TOKEN`, `GH_TOKEN`", "sent to GitHub's API when a page of GitHub is fetched"),
    ("`OTEL_EXPORTER_OTLP_ENDPOINT`", "where telemetry is sent, if you have switched it on"),
)


def command_line() -> str:
    """Return the page of the command line."""
    whole = parser()
    parsers = subparsers(whole)
    lines = [
        "# The command line",
        "",
        _MADE,
        "`north-lsp COMMAND --help` has the same. Warnings go to standard error; ",
    ]
    lines[-1] += (
        "colors and progress are shown on terminals only. `north-lsp completion bash` (or `zsh`, `fish`) prints "
    )
    lines[-1] += "completions.\n"
    lines += ["Before or after the command:", "", *_options(whole), "", "| exit code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES]
    shared = {option for action in options_of(whole) for option in action.option_strings}
    for command in COMMANDS:
        names = "".join(f" (or `{alias}`)" for alias in command.aliases)
        lines += ["", f"## north-lsp {command.name}", "", command.help + names, "", "```sh"]
        lines += [*(f"north-lsp {example}" for example in command.examples), "```"]
        rows = _options(parsers[command.name], without=shared)
        lines += ["", *rows] if len(rows) > 2 else []
    return "\n".join([*lines, ""])


def _options(command: Parser, without: Collection[str] = ("-h", "-V")) -> list[str]:
    rows = ["| argument | meaning |", "|---|---|"]
    for action in command._actions:
        if action.help == argparse.SUPPRESS or set(action.option_strings) & set(without):
            continue
        value = "" if action.nargs == 0 else f" {action.metavar or '|'.join(map(str, action.choices or ()))}"
        name = ", ".join(action.option_strings) + value if action.option_strings else action.metavar or action.dest
        cells = [str(cell).strip().replace("|", "\\|") for cell in (name, action.help)]
        rows.append(f"| `{cells[0]}` | {cells[1]} |")
    return rows


def slash_commands() -> str:
    """Return the page of slash commands."""
    lines = ["# Slash commands", "", _MADE]
    lines += [
        "A prompt that begins with one of these is for North, not for the model. [Turns](../turns.md) explains them; "
    ]
    lines[-1] += "your own are in [commands](../commands.md). "
    lines[-1] += "`/help` shows these groups, too.\n"
    for group, members in grouped(Commands().all()):
        lines += [f"## {group}", "", "| command | what it does |", "|---|---|"]
        for one in members:
            hint = f" {one.hint}".replace("|", "\\|") if one.hint else ""
            lines.append(f"| `/{one.name}{hint}` | {one.description} |")
        lines.append("")
    return "\n".join(lines)


def table() -> str:
    """Return all settings as a table, in the order of their keys, and one of those that people look for in vain."""
    rows = sorted(declared(Settings).values(), key=lambda row: row.setting.key.casefold())
    lines = ["| key | default | values | meaning |\n|---|---|---|---|\n", *map(_row, rows)]
    lines += ["\n**Without effect.** These are for what North does not have; whoever sets one is told.\n\n"]
    lines += ["| key | why |\n|---|---|\n", *(f"| `{key}` | {why} |\n" for key, why in NOT_HERE.items())]
    return "".join(lines)


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
        case {"anyOf": [{"minimum": low}, {"const": 0}]}:
            return f"0, or {low:,} or more"
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
            return "list of strings and objects"


def main() -> None:
    """Write the files."""
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
