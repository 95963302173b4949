#!/usr/bin/env bash
# Set up the test bed of shells and print the folder it is in: FOLDER/bin/zsh, FOLDER/bin/fish.
# Debian's packages of this system's release are unpacked beside it: nothing is installed, and nobody has to be root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bed=shells
source "$here/setup-common.sh"

one_at_a_time
debian tmux

key=$(sha256sum "${BASH_SOURCE[0]}")
target=$cache/shells-${key:0:12}

if [[ ! -e $target/stamp ]]; then
  command -v apt-get >/dev/null || die "needs apt-get"
  say "Debian packages, unpacked: zsh, fish"
  rm -rf "$target"
  mkdir -p "$target/packages" "$target/root" "$target/bin"
  cd "$target/packages"
  logged download apt-get -qq download zsh zsh-common fish fish-common libpcre2-32-0
  for package in *.deb; do dpkg-deb -x "$package" "$target/root"; done
  libraries=$(dirname "$(find "$target/root" -name 'libpcre2-32.so.0')")
  {
    echo '#!/bin/sh'
    echo "functions='set -p fish_function_path $target/root/usr/share/fish/functions'"
    echo "LD_LIBRARY_PATH=$libraries exec $target/root/usr/bin/fish -C \"\$functions\" \"\$@\""
  } >"$target/bin/fish"
  ln -s ../root/bin/zsh "$target/bin/zsh"
  chmod +x "$target/bin/fish"
  # Both look for their functions where the package would be installed; for zsh, the caller's `.zshenv` says where they are.
  {
    echo "module_path=($(dirname "$(dirname "$(find "$target/root" -name zle.so)")"))"
    echo "fpath=($target/root/usr/share/zsh/functions/**/*(/N))"
  } >"$target/zshenv"
  logged fish "$target/bin/fish" --version
  logged zsh "$target/bin/zsh" --version
  cat "$cache/$bed-fish.log" "$cache/$bed-zsh.log" | paste -sd, >"$target/stamp.new"
  mv "$target/stamp.new" "$target/stamp"
fi

say "ready: $(<"$target/stamp")"
echo "$target"
