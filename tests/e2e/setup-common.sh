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
