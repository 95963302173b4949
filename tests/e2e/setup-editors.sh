#!/usr/bin/env bash
# Set up the test bed of other editors and print the folder it is in: FOLDER/bin/emacs, FOLDER/bin/emacsclient, FOLDER/bin/hx,
# and FOLDER/bin/nvim, the oldest Neovim that the plugin is for, without a screen (it starts itself again for one).
# They are those of a Debian release that may be newer than this system, so they are unpacked beside it, with all that they
# need, and run by their own loader: nothing is installed, and nobody has to be root. tmux shows them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bed=editors
source "$here/setup-common.sh"

release=trixie
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

one_at_a_time
debian tmux debian-archive-keyring

key=$(sha256sum "${BASH_SOURCE[0]}")
target=$cache/editors-${key:0:12}

# wrapper NAME PROGRAM [LINE]...: a script that runs a program of FOLDER/root by its own loader.
wrapper() {
  local name=$1 program=$2; shift 2
  {
    echo '#!/bin/sh'
    echo 'root=$(dirname "$(dirname "$(readlink -f "$0")")")/root'
    printf '%s\n' "$@"
    echo "exec \"\$root/usr/lib64/ld-linux-x86-64.so.2\" --library-path \"\$root/usr/lib/x86_64-linux-gnu\" $program \"\$@\""
  } >"$target/bin/$name"
  chmod +x "$target/bin/$name"
}

if [[ ! -e $target/stamp ]]; then
  command -v apt-get >/dev/null || die "needs apt-get"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/\?$') ||
    die "needs a mirror of Debian among apt's sources"
  say "Debian packages of $release, unpacked: emacs-nox, hx, neovim"
  rm -rf "$target"
  apt=$target/apt
  mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$target/root" "$target/bin"
  : >"$apt/status" # nothing counts as installed, so that everything needed comes along
  echo "deb [signed-by=$keyring] $mirror $release main" >"$apt/sources.list"
  own=(-qq -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State="$apt/state"
    -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1)
  logged update apt-get "${own[@]}" update
  logged download apt-get "${own[@]}" install --download-only -y --no-install-recommends emacs-nox hx neovim
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$target/root"; done
  rm -rf "$apt"
  # The variables hold folders of whichever version was unpacked.
  wrapper hx '"$root/usr/bin/hx"'
  wrapper emacsclient '"$root/usr/bin/emacsclient.emacs"'
  wrapper emacs '"$root/usr/bin/emacs-nox" --dump-file="$(ls "$EMACSPATH"/*.pdmp)"' \
    'export EMACSLOADPATH=$(find "$root"/usr/share/emacs/*/lisp -type d -not -path "*/obsolete*" | tr "\n" ":")' \
    'export EMACSDATA=$(echo "$root"/usr/share/emacs/[0-9]*/etc) EMACSPATH=$(echo "$root"/usr/libexec/emacs/*/*-linux-gnu)' \
    'export EMACSDOC=$EMACSDATA'
  wrapper nvim '"$root/usr/bin/nvim"' 'export VIMRUNTIME=$root/usr/share/nvim/runtime'
  logged versions "$target/bin/emacs" --version
  logged helix "$target/bin/hx" --version
  logged neovim "$target/bin/nvim" --version
  grep -h -m 1 -E '^(GNU Emacs|helix|NVIM) ' "$cache/$bed"-{versions,helix,neovim}.log | paste -sd, >"$target/stamp.new"
  mv "$target/stamp.new" "$target/stamp"
fi

say "ready: $(<"$target/stamp"), $(tmux -V 2>/dev/null || echo 'no tmux')"
echo "$target"
