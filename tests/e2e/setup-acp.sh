#!/usr/bin/env bash
# Set up ACP clients of other people, from PyPI and npm, and print the folder they are in: FOLDER/bin/python has those of
# PyPI, FOLDER/node_modules those of npm, with a Node for them.
# The versions are those of acp/requirements.txt and acp/package.json; a changed file gives a new folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bed=acp
source "$here/setup-common.sh"

one_at_a_time

key=$(cat "$here/acp/requirements.txt" "$here/acp/package.json" | sha256sum)
target=$cache/acp-${key:0:12}

if [[ ! -e $target/stamp ]]; then
  python=$here/../../.venv/bin/python
  [[ -x $python ]] || python=$(command -v python3) || die "needs python3 on the PATH"
  command -v npm >/dev/null || die "needs npm on the PATH"
  say "PyPI and npm packages"
  rm -rf "$target"
  logged venv "$python" -m venv "$target"
  logged pip "$target/bin/python" -m pip install --disable-pip-version-check --requirement "$here/acp/requirements.txt"
  cp "$here/acp/package.json" "$target"
  logged npm npm install --prefix "$target" --no-audit --no-fund --loglevel=error
  echo "acp $(date -u +%F)" >"$target/stamp.new" && mv "$target/stamp.new" "$target/stamp"
fi

say "ready"
echo "$target"
