"""The completions for zsh, with its own completion system: a file `_north-lsp` in a folder of `fpath`, or sourced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from north_lsp.cli.completion.table import Line, Option, Value

_SCRIPT = """\
#compdef north-lsp
_north_lsp() {{
  local context state state_descr line
  typeset -A opt_args
  _arguments -S \\
{whole} \\
    '1: :->command' '*:: :->rest' && return
  case $state in
    command)
      local -a commands=(
{commands}
      )
      _describe -t commands command commands ;;
    rest)
      case $line[1] in
{cases}
      esac ;;
  esac
}}
if [[ $funcstack[1] == _north-lsp ]]; then
  _north_lsp "$@"
else
  (( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit; }}
  compdef _north_lsp north-lsp
fi"""


def script(table: tuple[Line, Sequence[Line]]) -> str:
    """Write the script."""
    whole, commands = table
    return _SCRIPT.format(
        whole=" \\\n".join(f"    {_option(one)}" for one in whole.options),
        commands="\n".join(f"        {_quoted(f'{line.name}:{line.help}')}" for line in commands),
        cases="\n".join(_case(line) for line in commands),
    )


def _case(line: Line) -> str:
    given = [*(_option(one) for one in line.options), *_places(line)]
    return f"        {line.name}) _arguments -S {' '.join(given)} ;;"


def _option(one: Option) -> str:
    told = _escaped(one.help)
    taken = "" if one.value is None else f":{_escaped(one.value.name)}:{_offer(one.value)}"
    excluded = f"({' '.join(one.names)})"
    return " ".join(_quoted(f"{excluded}{name}[{told}]{taken}") for name in one.names)


def _places(line: Line) -> Iterator[str]:
    for at, value in enumerate(line.places, 1):
        number = "*" if line.repeats and at == len(line.places) else str(at)
        yield _quoted(f"{number}:{_escaped(value.name)}:{_offer(value)}")
    if line.after:
        cases = " ".join(f"{action}) {_words(value)} ;;" for action, value in line.after.items())
        yield _quoted(f"2: :{{case $words[2] in {cases} esac}}")


def _offer(value: Value) -> str:
    match value.files:
        case "files":
            return "_files"
        case "folders":
            return "_files -/"
        case "no":
            return f"({' '.join(value.words)})" if value.words else " "


def _words(value: Value) -> str:
    return f"compadd {' '.join(value.words)}"


def _escaped(text: str) -> str:
    """Return a text as it may be in a specification of `_arguments`."""
    return "".join(f"\\{one}" if one in "\\[]:" else one for one in text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
