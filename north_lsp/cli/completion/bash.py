"""The completions for bash. They need nothing of bash-completion's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from north_lsp.cli.completion.table import Files, Line, Value

_SCRIPT = """\
_north_lsp() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= action= place=0 index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    case ${{COMP_WORDS[index]}} in
      {valued}) ((index++)) ;;
      -*) ;;
      *) if [[ -z $command ]]; then command=${{COMP_WORDS[index]}}
         else ((place++)); [[ $place -gt 1 ]] || action=${{COMP_WORDS[index]}}; fi ;;
    esac
  done
  case $command:$prev in
{values}
  esac
  if [[ $cur == -* ]]; then
    case $command in
{options}
    esac
    return
  fi
  case $command:$place:$action in
{places}
  esac
}}
complete -F _north_lsp north-lsp"""
_NAMES: dict[Files, str] = {"files": "-f", "folders": "-d"}


def script(table: tuple[Line, Sequence[Line]]) -> str:
    """Write the script."""
    whole, commands = table
    lines = [whole, *commands]
    valued = sorted({name for line in lines for one in line.options if one.value for name in one.names})
    first = Value("COMMAND", [line.name for line in commands])
    places = [f"    :0:*) {_reply(first)} ;;", *(row for line in commands for row in _places(line))]
    return _SCRIPT.format(
        valued="|".join(valued),
        values=_joined(row for line in lines for row in _values(line)),
        options=_joined(f'      "{line.name}") {_reply(_switches(line))} ;;' for line in lines),
        places=_joined(places),
    )


def _joined(rows: Iterable[str]) -> str:
    return "\n".join(rows)


def _values(line: Line) -> Iterator[str]:
    """Yield a case for each option of a command that takes a value."""
    for one in line.options:
        if one.value is not None:
            yield f"    {'|'.join(f'{line.name}:{name}' for name in one.names)}) {_reply(one.value)} return ;;"


def _switches(line: Line) -> Value:
    return Value("", [name for one in line.options for name in one.names if name.startswith("--")])


def _places(line: Line) -> Iterator[str]:
    for action, value in (line.after or {}).items():
        yield f"    {line.name}:1:{action}) {_reply(value)} ;;"
    for at, value in enumerate(line.places):
        number = "*" if line.repeats and at == len(line.places) - 1 else at
        if reply := _reply(value):
            yield f"    {line.name}:{number}:*) {reply} ;;"


def _reply(value: Value) -> str:
    """Return the commands that offer a value's words; empty if nothing is known of it."""
    if value.files != "no":
        return f'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen {_NAMES[value.files]} -- "$cur"));'
    return f'COMPREPLY=($(compgen -W "{" ".join(value.words)}" -- "$cur"));' if value.words else ""
