#!/usr/bin/env bash
# Set up ACP clients of other people, from PyPI and npm, and print the folder they are in: FOLDER/bin/python has those of
# PyPI, FOLDER/node_modules those of npm, with a Node for them.
# The versions are those of acp/requirements.txt and acp/package.json; a changed file gives a new folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bed=acp
source "$here/setup-common.sh"

one_at_a_time
packages

say "ready"
echo "$target"
