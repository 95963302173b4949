"""What is handed to ACP's registry of agents, by the rules of its checks; and its handshake with the real process."""

import json
import os
import re
import subprocess
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from tests.end_to_end.world import SERVER
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "registry" / "north"
COLORS = {"currentColor", "none", "inherit"}


def manifest() -> dict[str, Any]:
    return dict(json.loads((FOLDER / "agent.json").read_text("utf-8")))


def test_the_manifest_is_what_the_registry_takes() -> None:
    found = manifest()
    known = {"id", "name", "version", "description", "repository", "website", "authors", "license", "license_url"}
    assert set(found) <= known | {"distribution"}
    assert {"id", "name", "version", "description", "license_url", "distribution"} <= set(found)
    assert re.fullmatch(r"[a-z][a-z0-9-]*", found["id"])
    assert found["id"] == FOLDER.name
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["version"])
    assert found["license_url"].startswith("https://")


def test_it_starts_this_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = manifest()
    assert (found["version"], found["license"]) == (project["version"], project["license"])
    (started,) = found["distribution"].values()
    assert started == {"package": f"{project['name']}=={project['version']}", "args": ["acp"]}
    assert project["name"] in project["scripts"]  # so `uvx` finds the program without being told its name


def test_the_icon_is_small_square_and_without_a_color_of_its_own() -> None:
    root = ET.fromstring((FOLDER / "icon.svg").read_text("utf-8"))
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("16", "16", "0 0 16 16")
    for element in root.iter():
        assert not {"style", "class"} & set(element.keys())
        assert {element.get("fill", "none"), element.get("stroke", "none")} <= COLORS


def test_the_registrys_handshake_finds_a_way_to_sign_in(tmp_path: Path) -> None:
    """In a home that is empty, with next to no variables, as the registry's own check does it."""
    meta = {"terminal_output": True, "terminal-auth": True}
    files = {"readTextFile": True, "writeTextFile": True}
    params = {
        "protocolVersion": 1,
        "clientInfo": {"name": "ACP Registry Validator", "version": "1.0.0"},
        "clientCapabilities": {"terminal": True, "fs": files, "_meta": meta},
    }
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    environ = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(tmp_path)}
    ended = subprocess.run(
        [*SERVER, *manifest()["distribution"]["uvx"]["args"]],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environ,
        cwd=tmp_path,
        check=True,
    )
    (line,) = ended.stdout.splitlines()
    methods = json.loads(line)["result"]["authMethods"]
    assert {method.get("type", "agent") for method in methods} <= {"agent", "terminal"}
    assert all(method["id"] and method["name"] for method in methods)
    assert methods
