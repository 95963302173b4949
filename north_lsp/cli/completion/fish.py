"""The completions for fish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from north_lsp.cli.completion.table import Line, Option, Value

# Whether the command is this one; an empty name asks whether there is none yet. Then how many arguments it has so far,
# and the first of them.
_FUNCTIONS = """\
function __north_lsp_at
    set -l found
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
        else if contains -- $word {valued}
            set skip 1
        else if not string match -q -- '-*' $word
            set -a found $word
        end
    end
    test "$found[1]" = "$argv[1]"; or return 1
    test (count $argv) -lt 2; or test (math (count $found) - 1) = $argv[2]; or return 1
    test (count $argv) -lt 3; or contains -- "$found[2]" $argv[3..]
end
complete -c north-lsp -f"""


def script(table: tuple[Line, Sequence[Line]]) -> str:
    """Write the script."""
    whole, commands = table
    valued = sorted({name for line in (whole, *commands) for one in line.options if one.value for name in one.names})
    lines = [_FUNCTIONS.format(valued=" ".join(valued))]
    for command in commands:
        lines.append(f"complete -c north-lsp -n '__north_lsp_at \"\"' -a {command.name} -d {_quoted(command.help)}")
    for line in (whole, *commands):
        lines += [_option(line, one) for one in line.options]
        lines += _places(line)
    return "\n".join(lines)


def _option(line: Line, one: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in one.names)
    takes = "" if one.value is None else f" {_offer(one.value, 'x')}"
    return f"complete -c north-lsp -n '{_at(line)}' {names}{takes} -d {_quoted(one.help)}"


def _places(line: Line) -> Iterator[str]:
    for action, value in (line.after or {}).items():
        yield f"complete -c north-lsp -n '{_at(line)} 1 {action}' {_offer(value)}"
        yield f"complete -c north-lsp -n '{_at(line)} 2 {action}' {_offer(value)}" if line.repeats else ""
    for at, value in enumerate(line.places):
        number = "" if line.repeats and at == len(line.places) - 1 else f" {at}"
        if value.words or value.files != "no":
            yield f"complete -c north-lsp -n '{_at(line)}{number}' {_offer(value)}"


def _at(line: Line) -> str:
    return f'__north_lsp_at "{line.name}"'


def _offer(value: Value, free: str = "") -> str:
    """Return the arguments of `complete` that offer a value."""
    dash = f"-{free} " if free else ""
    match value.files:
        case "files":
            return "-r -F" if free else "-F"
        case "folders":
            return f"{dash}-a '(__fish_complete_directories)'"
        case "no":
            return f"{dash}-a {_quoted(' '.join(value.words))}" if value.words else dash.strip()


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
