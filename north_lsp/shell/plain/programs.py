"""Which shell runs commands on Windows, and what it must be told: pure functions but for looking whether files
exist."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from north_lsp.lazy_dataclass import dataclass

Kind = Literal["bash", "powershell", "cmd"]

_OF_GIT = ("bin\\bash.exe", "usr\\bin\\bash.exe")
_POWERSHELL = "WindowsPowerShell\\v1.0\\powershell.exe"
_DEEPEST_GIT = 3  # Git\mingw64\bin\git.exe

Exists = Callable[[str], bool]
Find = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Program:
    """A shell: its kind, and where it is."""

    kind: Kind
    path: str

    @property
    def words(self) -> str:
        """What it is called to people and models."""
        name = ntpath.basename(self.path).lower().removesuffix(".exe")
        match self.kind:
            case "bash":
                return "Git Bash"
            case "powershell":
                return "PowerShell" if name == "pwsh" else "Windows PowerShell"
            case "cmd":
                return "cmd.exe"

    @property
    def suffix(self) -> str:
        """How the name of a file with commands for it ends."""
        return {"bash": ".sh", "powershell": ".ps1", "cmd": ".cmd"}[self.kind]

    def argv(self, script: str) -> list[str]:
        """Return what runs a file."""
        match self.kind:
            case "bash":
                return [self.path, "--noprofile", "--norc", _slashes(script)]
            case "powershell":
                switches = ("-NoLogo", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass")
                return [self.path, *switches, "-File", script]
            case "cmd":
                return [self.path, "/d", "/q", "/c", script]

    def around(self, script: str, directory: str) -> bytes:
        """Return the contents of a file that runs the command's file `script` and then writes the directory that it
        ended in to the file `directory`; it ends with the command's exit code."""
        match self.kind:
            case "bash":
                where = _quoted(_slashes(directory))
                told = f"{{ pwd -W || pwd; }} > {where} 2>/dev/null"
                return f"trap -- {_quoted(told)} EXIT\n. {_quoted(_slashes(script))}\n".encode()
            case "powershell":
                return _BOM + _AROUND_POWERSHELL.format(_doubled(script), _doubled(directory)).encode()
            case "cmd":
                lines = ("@echo off", f'call "{script}"', "set NORTH_CODE=%ERRORLEVEL%", f'cd > "{directory}"')
                return "\r\n".join((*lines, "exit /b %NORTH_CODE%", "")).encode()

    def own(self, command: str) -> bytes:
        """Return the contents of the command's own file."""
        data = command.encode("utf-8", "surrogateescape")
        match self.kind:
            case "bash":
                return data.replace(b"\r\n", b"\n") + b"\n"
            case "powershell":
                return _BOM + data + b"\r\n"
            case "cmd":
                return b"@echo off\r\n" + data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") + b"\r\n"

    def in_terminal(self, command: str) -> list[str]:
        """Return what runs a command in a terminal that the user types into."""
        match self.kind:
            case "bash":
                return [self.path, "--noprofile", "--norc", "-c", command]
            case "powershell":
                return [self.path, "-NoLogo", "-NoProfile", "-Command", command]
            case "cmd":
                return [self.path, "/d", "/c", command]


_BOM = b"\xef\xbb\xbf"  # without it Windows PowerShell reads the file in the system's old code page
_AROUND_POWERSHELL = """\
$ProgressPreference = 'SilentlyContinue'
[Console]::OutputEncoding = $OutputEncoding = New-Object System.Text.UTF8Encoding $false
$global:LASTEXITCODE = 0
$northWell = $true
try {{
    . '{0}'
    $northWell = $?
}} catch {{
    $_ | Out-String | Write-Output
    $northWell = $false
}} finally {{
    [System.IO.File]::WriteAllText('{1}', (Get-Location -PSProvider FileSystem).ProviderPath)
}}
if ($LASTEXITCODE) {{ exit $LASTEXITCODE }}
if (-not $northWell) {{ exit 1 }}
exit 0
"""


def find_program(wanted: str | None, environ: Mapping[str, str], find: Find, exists: Exists) -> Program | None:
    """Find the shell that runs commands: the one that the settings want, else Git's bash, else PowerShell. The bash
    that comes with Windows runs commands inside WSL, and is not one of these; nor is a file in a project."""
    if wanted is not None:
        path = wanted if ntpath.isabs(wanted) else find(wanted)
        return Program(_kind_of(path), path) if path is not None and exists(path) else None
    for path in _git_bashes(environ, find):
        if exists(path):
            return Program("bash", path)
    if (bash := find("bash")) is not None and not _is_of_windows(bash, environ):
        return Program("bash", bash)
    if (pwsh := find("pwsh")) is not None:
        return Program("powershell", pwsh)
    system = environ.get("SYSTEMROOT") or environ.get("SystemRoot") or "C:\\Windows"
    for place in (ntpath.join(system, "System32", _POWERSHELL), find("powershell")):
        if place is not None and exists(place):
            return Program("powershell", place)
    return None


def _git_bashes(environ: Mapping[str, str], find: Find) -> Iterator[str]:
    git = find("git")
    folder = ntpath.dirname(git) if git is not None else ""
    for _ in range(_DEEPEST_GIT):
        folder = ntpath.dirname(folder)
        if ntpath.splitdrive(folder)[1].strip("\\/"):
            yield from (ntpath.join(folder, name) for name in _OF_GIT)
    places = (("ProgramFiles", "Git"), ("ProgramFiles(x86)", "Git"), ("LOCALAPPDATA", "Programs\\Git"))
    known = {name.upper(): value for name, value in environ.items()}
    for variable, name in places:
        if ntpath.isabs(base := known.get(variable.upper(), "")):
            yield ntpath.join(base, name, _OF_GIT[0])


def _is_of_windows(path: str, environ: Mapping[str, str]) -> bool:
    """Tell whether a bash is one of those that only start WSL."""
    plain = path.replace("/", "\\").lower()
    system = (environ.get("SYSTEMROOT") or environ.get("SystemRoot") or "C:\\Windows").lower()
    return plain.startswith(system.rstrip("\\") + "\\") or "\\windowsapps\\" in plain


def _kind_of(path: str) -> Kind:
    name = ntpath.basename(path).lower().removesuffix(".exe")
    if name in ("pwsh", "powershell"):
        return "powershell"
    return "cmd" if name == "cmd" else "bash"


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _doubled(text: str) -> str:
    return text.replace("'", "''")
