"""The environment of commands: unattended and without credentials. Also tells which variables change what a word
means."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.switches import is_on

_DROPPED = {
    "PS1", "PS2", "PS4", "PROMPT_COMMAND", "PWD", "OLDPWD", "SHLVL", "BASH_ENV", "ENV", "TMOUT", "MAIL", "MAILPATH",
    "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "CDPATH", "GLOBIGNORE", "EXECIGNORE", "HISTFILE",
}  # fmt: skip
_NO_CI = ("NORTH_BASH_NO_CI", "CLAUDE_BASH_NO_CI")
UNATTENDED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "LESS": "-FRX",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "/usr/bin/false",
    "GIT_ASKPASS": "/usr/bin/false",
    "CI": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "NPM_CONFIG_YES": "true",
    "NPM_CONFIG_FUND": "false",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "NORTH": "1",
}

# One word of a name decides: MY_API_KEY and GITHUB_TOKEN hold credentials, TOKENIZERS_PARALLELISM and KEYBOARD do not.
_CREDENTIAL_NAME = lazy_pattern(
    r"(?:^|_)(?:TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PWD|PASSPHRASE|PASS|CREDENTIALS?|APIKEYS?|AUTH|COOKIES?|JWT|PAT|PRIVATE"
    r"|KEY|KEYS|ACCESSKEY|SECRETKEY|AUTHTOKEN|BEARER|DSN)(?:_(?:BASE64|B64|JSON|ID|FILE|PATH|\d+))?$"
    r"|(?:^|_)(?:SECRET|PASSWORD|PRIVATE_KEY|ACCESS_KEY|API_KEY|AUTH_TOKEN)(?:_|$)"
    r"|(?:PASSWORD|PASSWD|PASSPHRASE|SSHPASS|APIKEY|SECRET|TOKEN|BINDPW)$",  # PGPASSWORD, REDISCLIPASSWORD
    re.IGNORECASE,
)
_NO_CREDENTIAL = lazy_pattern(r"^(?:SSH_AUTH_SOCK|GPG_TTY|XAUTHORITY|.*_PUBLIC_KEY|PWD|OLDPWD)$", re.IGNORECASE)
_CREDENTIAL_VALUE = lazy_pattern(
    r"(?:[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s:@]+@"  # an address with a password in it
    r"|^(?:sk-|ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|xox[abpr]-|npm_|pypi-|AKIA|ASIA|hf_|AIza|ya29\.)[\w.-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY)",
    re.IGNORECASE,
)

# These variables decide what a program runs, loads, or reads its settings from.
_OF_EFFECT = lazy_pattern(
    r"^(?:PATH|CDPATH|IFS|ENV|BASH_.*|SHELLOPTS|BASHOPTS|GLOBIGNORE|EXECIGNORE|POSIXLY_CORRECT|PS4|PROMPT_COMMAND|SHELL"
    r"|HOME|USER|TMPDIR|XDG_.*|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|TERMINFO.*|TERMCAP|MALLOC_.*|GLIBC_TUNABLES"
    r"|.*PAGER|LESS.*|MAN.*|EDITOR|VISUAL|.*_EDITOR|BROWSER|GIT_.*|SSH_.*|GPG_.*|GNUPGHOME|.*ASKPASS"
    r"|PYTHON.*|PIP_.*|UV_.*|POETRY_.*|PYTEST_.*|TOX_.*|VIRTUAL_ENV.*|CONDA_.*|NODE_.*|NPM_.*|npm_.*|YARN_.*|PNPM_.*|BUN_.*|DENO_.*"
    r"|RUBY.*|GEM_.*|BUNDLE_.*|PERL.*|PHP.*|LUA.*|JAVA_.*|_JAVA_OPTIONS|JDK_.*|CLASSPATH|MAVEN_.*|GRADLE_.*|SBT_.*|JVM_.*"
    r"|GO[A-Z0-9_]*|CGO_.*|CARGO.*|RUST.*|CC|CXX|CPP|LD|AR|AS|.*FLAGS|.*_WRAPPER|MAKE.*|CMAKE_.*|MSBUILD.*|DOTNET_.*|NUGET_.*"
    r"|RIPGREP_CONFIG_PATH|FZF_.*|JQ_.*|GREP_.*|[GM]?AWK.*|ACK.*|TAR_OPTIONS|TAPE|RSH|GZIP|ZIPOPT|UNZIP|RSYNC_.*|CVS_RSH|SVN_.*|HG.*"
    r"|DOCKER_.*|KUBE.*|TF_.*|AWS_.*|GOOGLE_.*|AZURE_.*|.*_PROXY|.*_proxy|.*_PROGRAM|.*_COMMAND|.*_EXEC|.*_HOOKS?|.*_PRELOAD"
    r"|COVERAGE_.*|COV_.*|MYPY.*|PYENV_.*|RBENV_.*|NODENV_.*|NVM_.*|COMPOSER_.*|TS_NODE_.*|BABEL_.*|ESLINT_.*|PKG_CONFIG.*"
    r"|TCL.*|R_.*|MAGIC|INPUTRC|SSL.*|OPENSSL_.*|CURL_.*|HOSTALIASES|DBUS_.*"
    r"|LC_.*|LANG|LANGUAGE|RUFF_.*|BLACK_.*|FLAKE8.*|PYLINT.*|NOX.*|PDM_.*|HATCH_.*|PIPENV_.*|JEST_.*|VITEST.*|MOCHA.*|TSC_.*|VITE_.*"
    r"|NX_.*|TURBO_.*|CTEST_.*|GTEST_.*|NINJA.*|MESON.*|BAZEL.*|JUST_.*|MIX_.*|ELIXIR.*|ERL_.*|SPEC_OPTS|RSPEC.*|RUBOCOP.*|RAKE.*|RAILS_.*"
    r"|PHPUNIT.*|CLANG.*|GCC_.*|COMPILER_PATH|LIBRARY_PATH|C_INCLUDE_PATH|CPATH|GOLANGCI_.*|SHELLCHECK_.*|YAMLLINT.*|FD_.*|EZA_.*|LS_COLORS_FILE"
    r"|.*_(?:OUTPUT|OUT|FILE|FILES|PATH|DIR|DIRS|ROOT|RC|CONFIG|CONF|SETTINGS|OPTS?|OPTIONS|ARGS|ADDOPTS|PARAMS|PLUGINS?|MODULES?|LOADER|SCRIPT))$"
)


def looks_like_credential(name: str, value: str) -> bool:
    """Return whether a variable looks like a credential, by a word of its name or by the form of its value."""
    if _NO_CREDENTIAL.match(name):
        return False
    return _CREDENTIAL_NAME.search(name) is not None or _CREDENTIAL_VALUE.search(value) is not None


def command_environment(
    environ: Mapping[str, str],
    secret_names: frozenset[str],
    passed: Collection[str] = (),
    added: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the environment of commands: no pagers, editors or prompts, and no credentials except those that the user
    lets pass. `added` are the variables from the user's settings, which come last."""
    unattended = UNATTENDED
    if any(is_on(environ, name) for name in _NO_CI):
        unattended = {name: value for name, value in UNATTENDED.items() if name != "CI"}
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _DROPPED
        and not name.startswith("BASH_FUNC_")
        and (name in passed or (name not in secret_names and not looks_like_credential(name, value)))
    }
    return kept | unattended | dict(added or {})


def changes_meaning(name: str) -> bool:
    """Return whether an exported variable of this name can make a program do something else."""
    return _OF_EFFECT.match(name) is not None
