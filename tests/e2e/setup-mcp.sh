#!/usr/bin/env bash
# Set up MCP servers of other people, from PyPI and npm, and print the folder they are in: FOLDER/bin has the programs.
# The versions are those of mcp/requirements.txt and mcp/package.json; a changed file gives a new folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bed=mcp
source "$here/setup-common.sh"

one_at_a_time

key=$(cat "$here/mcp/requirements.txt" "$here/mcp/package.json" | sha256sum)
target=$cache/mcp-${key:0:12}

if [[ ! -e $target/stamp ]]; then
  python=$here/../../.venv/bin/python
  [[ -x $python ]] || python=$(command -v python3) || die "needs python3 on the PATH"
  command -v npm >/dev/null || die "needs npm on the PATH"
  say "PyPI and npm packages"
  rm -rf "$target"
  logged venv "$python" -m venv "$target"
  logged pip "$target/bin/python" -m pip install --disable-pip-version-check --requirement "$here/mcp/requirements.txt"
  cp "$here/mcp/package.json" "$target"
  logged npm npm install --prefix "$target" --no-audit --no-fund --loglevel=error
  for program in "$target"/node_modules/.bin/mcp-server-*; do
    ln -s "../node_modules/.bin/$(basename "$program")" "$target/bin/"
  done
  echo "mcp $(date -u +%F)" >"$target/stamp.new" && mv "$target/stamp.new" "$target/stamp"
fi

say "ready"
echo "$target"
