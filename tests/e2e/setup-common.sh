# Sourced by the setup scripts: where the cache is, one line per step, Debian packages, one set-up at a time.

cache=${NORTH_E2E_CACHE:-$HOME/.cache/north-e2e}

# Steps go to stderr: standard output carries only the folder that was set up.
say() { printf '%s: %s\n' "$bed" "$*" >&2; }

die() { say "$*"; exit 1; }

# debian PACKAGE...: install those that are missing; without apt-get, say what is needed and go on.
debian() {
  local package missing=() as_root=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || { say "no apt-get here; this bed needs ${missing[*]}"; return 0; }
  if ((EUID)); then
    command -v sudo >/dev/null || die "install these Debian packages first: ${missing[*]}"
    as_root=(sudo)
  fi
  say "Debian packages: ${missing[*]}"
  logged apt-update "${as_root[@]}" apt-get -qq update
  logged apt-install "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
    install -y --no-install-recommends "${missing[@]}"
}

# logged NAME COMMAND...: run it quietly; its output is shown only when it fails.
logged() {
  local log=$cache/$bed-$1.log; shift
  "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; die "'$*' failed, see $log"; }
}

# A second set-up of the same bed waits here for the first, and then finds everything in place.
one_at_a_time() {
  mkdir -p "$cache"
  exec 9>"$cache/$bed.lock"
  flock 9
}

# python3_of: print the Python that beds are made with: that of the checkout, else the first on the PATH.
python3_of() {
  local python=$here/../../.venv/bin/python
  [[ -x $python ]] || python=$(command -v python3) || die "needs python3 on the PATH"
  echo "$python"
}

# packages: set up the packages of the bed's requirements.txt (a virtual environment in FOLDER) and package.json
# (FOLDER/node_modules) unless they are there, and set `target` to FOLDER. A changed file gives a new folder. What comes
# after the installation is the command `finish`, if the script has one.
packages() {
  local python key
  key=$(cat "$here/$bed/requirements.txt" "$here/$bed/package.json" | sha256sum)
  target=$cache/$bed-${key:0:12}
  [[ ! -e $target/stamp ]] || return 0
  python=$(python3_of)
  command -v npm >/dev/null || die "needs npm on the PATH"
  say "PyPI and npm packages"
  rm -rf "$target"
  logged venv "$python" -m venv "$target"
  logged pip "$target/bin/python" -m pip install --disable-pip-version-check --requirement "$here/$bed/requirements.txt"
  cp "$here/$bed/package.json" "$target"
  logged npm npm install --prefix "$target" --no-audit --no-fund --loglevel=error
  if [[ $(type -t finish) == function ]]; then finish; fi
  echo "$bed $(date -u +%F)" >"$target/stamp.new" && mv "$target/stamp.new" "$target/stamp"
}
