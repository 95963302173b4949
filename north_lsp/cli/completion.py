"""`north-lsp completion`: scripts that complete its commands and options, written from the parser."""

import argparse
from collections.abc import Callable

from north_lsp.cli.arguments import COMMANDS, Parser, options_of, parser, subparsers

_CONVERSATION_ACTIONS = (
    "list",
    "search",
    "show",
    "export",
    "rename",
    "archive",
    "unarchive",
    "delete",
    "trash",
    "restore",
    "fork",
)
_SETTINGS_ACTIONS = ("list", "get", "set", "reset")

_BASH = """\
_north_lsp() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= index words=
  for ((index = 1; index < COMP_CWORD; index++)); do
    case ${{COMP_WORDS[index]}} in
      {names}) command=${{COMP_WORDS[index]}}; break ;;
    esac
  done
  case $prev in
{values}
  esac
  case $command in
{commands}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ ${{#COMPREPLY[@]}} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$cur")); fi
}}
complete -F _north_lsp north-lsp
"""


def completion(shell: str, say: Callable[[str], object]) -> int:
    """Print the script for a shell, and return the exit code."""
    match shell:
        case "fish":
            say(_fish())
        case "zsh":
            say("autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + _bash())
        case _:
            say(_bash())
    return 0


def words_after(name: str, command: Parser) -> list[str]:
    """Return what may follow a command: its options, and the words of its first argument if those are known."""
    words = [option for action in options_of(command) for option in action.option_strings if option.startswith("--")]
    match name:
        case "conversations" | "list":
            words += _CONVERSATION_ACTIONS
        case "settings":
            words += _SETTINGS_ACTIONS
        case "help":
            words += [one.name for one in COMMANDS]
        case "docs":
            from north_lsp.tools.support.manual import manual_pages

            words += manual_pages()
        case _:
            words += [
                str(word) for action in command._actions if not action.option_strings for word in _choices(action)
            ]
    return words


def _choices(action: argparse.Action) -> list[str]:
    return [str(one) for one in action.choices or ()]


def _values() -> dict[str, list[str]]:
    """Return the words that may follow an option; an empty list for a file or a folder."""
    found: dict[str, list[str]] = {}
    for command in [parser(), *subparsers(parser()).values()]:
        for action in options_of(command):
            if action.nargs != 0:
                found |= dict.fromkeys(action.option_strings, _choices(action))
    return found


def _bash() -> str:
    whole = parser()
    rows = subparsers(whole)
    values = []
    for option, words in sorted(_values().items()):
        found = f'-W "{" ".join(words)}"' if words else "-d" if option == "--path" else "-f"
        values.append(f'    {option}) COMPREPLY=($(compgen {found} -- "$cur")); return ;;')
    first = [option for action in options_of(whole) for option in action.option_strings if option.startswith("--")]
    lines = [f'    "") words="{" ".join([*rows, *first])}" ;;']
    lines += [f'    {name}) words="{" ".join(words_after(name, one))}" ;;' for name, one in rows.items()]
    return _BASH.format(names="|".join(rows), values="\n".join(values), commands="\n".join(lines)).rstrip()


def _fish() -> str:
    whole = parser()
    lines = ["complete -c north-lsp -f"]
    for command in COMMANDS:
        lines.append(f"complete -c north-lsp -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}")
    for name, one in subparsers(whole).items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for action in options_of(one):
            for option in (option for option in action.option_strings if option.startswith("--")):
                takes = "" if action.nargs == 0 else " -r -F" if action.choices is None else " -x"
                choices = f" -a {_quoted(' '.join(_choices(action)))}" if action.choices else ""
                told = f" -d {_quoted(action.help or '')}"
                lines.append(f"complete -c north-lsp {seen} -l {option.removeprefix('--')}{takes}{choices}{told}")
        words = [word for word in words_after(name, one) if not word.startswith("-")]
        if words:
            lines.append(f"complete -c north-lsp {seen} -a {_quoted(' '.join(words))}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
