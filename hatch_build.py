"""Tell where this clone is at home: its remote `origin`, as far as that is a public address.

hatchling asks for it when it builds a package (`tool.hatch.metadata.hooks.custom`), and the extension is packed with
what `python hatch_build.py` prints. Nothing is made up: without such a remote, the packages name no address.
"""

import json
import re
import subprocess
import sys
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import urlsplit

ISSUES = {
    "bitbucket.org": "/issues",
    "codeberg.org": "/issues",
    "github.com": "/issues",
    "gitlab.com": "/-/issues",
}
"""Below a repository's address, where people report problems. Of other hosts it is not known."""

_NOT_PUBLIC = frozenset(
    {"arpa", "corp", "example", "home", "internal", "intranet", "invalid"}
    | {"lan", "local", "localhost", "onion", "private", "test"}
)
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?P<top>[a-z][a-z0-9-]*[a-z0-9])")
_PATH = re.compile(r"[\w.~+-]+(?:/[\w.~+-]+)*", re.ASCII)
_SCP = re.compile(r"[\w.+-]+@(?P<host>[\w.-]+):(?P<path>(?!//).+)", re.ASCII)


def public_address(remote: str) -> str | None:
    """Return the https address of a git remote, without credentials, or None if only some can reach it."""
    if short := _SCP.fullmatch(remote):
        host, port, path = short["host"].lower(), None, short["path"]
    else:
        try:
            parts = urlsplit(remote)
            host, port, path = parts.hostname or "", parts.port, parts.path
        except ValueError:
            return None
        if parts.scheme not in {"https", "ssh"} or parts.query or parts.fragment:
            return None
        port = port if parts.scheme == "https" and port != 443 else None
    path = path.strip("/").removesuffix(".git")
    name = _HOST.fullmatch(host)
    if name is None or name["top"] in _NOT_PUBLIC or not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
        return None
    return f"https://{host}{'' if port is None else f':{port}'}/{path}"


def urls(root: Path) -> dict[str, str]:
    """Return the addresses of a checkout, or of an unpacked source package, by the names that PyPI knows."""
    if (root / ".git").exists():
        return _of_remote(root)
    about = root / "PKG-INFO"
    if not about.is_file():
        return {}
    told = HeaderParser().parsestr(about.read_text("utf-8")).get_all("Project-URL", [])
    return dict(line.split(", ", 1) for line in told)


def _of_remote(root: Path) -> dict[str, str]:
    try:
        git = subprocess.run(
            ["git", "-C", str(root), "remote", "get-url", "origin"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    address = public_address(git.stdout.strip())
    if address is None:
        return {}
    issues = ISSUES.get(address.split("/")[2])
    return {"Homepage": address, "Repository": address} | ({} if issues is None else {"Issues": address + issues})


def get_metadata_hook() -> type:
    """Return the class that hatchling makes a hook of."""
    from hatchling.metadata.plugin.interface import MetadataHookInterface

    class Home(MetadataHookInterface):
        def update(self, metadata: dict[str, object]) -> None:
            metadata["urls"] = urls(Path(self.root))

    return Home


if __name__ == "__main__":
    json.dump(urls(Path(__file__).resolve().parent), sys.stdout)
