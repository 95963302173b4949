#!/usr/bin/env bash
# Set up MCP servers of other people, from PyPI and npm, and print the folder they are in: FOLDER/bin has the programs.
# The versions are those of mcp/requirements.txt and mcp/package.json; a changed file gives a new folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bed=mcp
source "$here/setup-common.sh"

# The programs of npm beside those of PyPI.
finish() {
  local program
  for program in "$target"/node_modules/.bin/mcp-server-*; do
    ln -s "../node_modules/.bin/$(basename "$program")" "$target/bin/"
  done
}

one_at_a_time
packages

say "ready"
echo "$target"
