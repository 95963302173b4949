# Everything runs inside .venv, which `setup` creates; `just` itself is installed there (rust-just).
set shell := ["bash", "-euo", "pipefail", "-c"]

bin := justfile_directory() / ".venv/bin"

# Create .venv and install North with what its tests need.
setup:
    test -x {{bin}}/python || python3 -m venv .venv
    {{bin}}/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'

# Lint, types, import contracts and every test, those in real editors too: what CI runs.
test: lint unit e2e

# Every test of the server. Ten failures end it: something that all of them need is broken.
unit:
    {{bin}}/python -m pytest -n auto --dist worksteal --maxfail 10 --ignore tests/e2e

# Search for examples that break a property: minutes, then paths of tests (default: all). Random, unlike `unit`.
fuzz minutes="5" *paths:
    {{bin}}/python -m tests.fuzz {{minutes}} {{paths}}

# Long campaigns that are no part of `test`: kills at random instants of turns, mutated streams of models, 200,000 random and damaged messages, and every failure of the disk in turn.
endurance kills="500" streams="20000" messages="200000":
    {{bin}}/python -m tests.endurance.kills_of_turns {{kills}}
    {{bin}}/python -m tests.endurance.streams {{streams}}
    {{bin}}/python -m tests.endurance.messages {{messages}}
    NORTH_TEST_WHOLE=1 {{bin}}/python -m pytest -n auto -o hanging_seconds=0 tests/end_to_end/test_faulty_disk.py

# The clients in a real VS Code, Neovim, Emacs and Helix, or those programs whose names contain a word. The editors are set up outside the checkout, once.
e2e *words: vsix
    {{bin}}/python -m tests.e2e.run {{words}}

# Take the README's pictures again and put them into docs/images: when `e2e` says that an editor shows other words. Look at them.
pictures: vsix
    NORTH_TEST_WRITE=1 tests/e2e/vscode/run tests/e2e/vscode/pictures.mjs

# Build the VS Code extension: vscode-client/north.vsix. Its packages are installed again when their list is younger.
vsix:
    cd vscode-client && { [[ node_modules/.package-lock.json -nt package-lock.json && node_modules/.package-lock.json -nt package.json ]] || npm ci --no-audit --no-fund --loglevel=error; } && npm run --silent check && npm test --silent && npm run --silent package

# Formatting, lint, types, the dependency direction, and plain words.
lint:
    {{bin}}/ruff format --check .
    {{bin}}/ruff check .
    {{bin}}/mypy
    {{bin}}/mypy --platform darwin --cache-dir .mypy_cache/darwin north_lsp
    {{bin}}/mypy --platform win32 --cache-dir .mypy_cache/win32 north_lsp
    {{bin}}/lint-imports
    {{bin}}/python -m tests.support.wording

# Rewrite the code in the project's format.
format:
    {{bin}}/ruff format .
    {{bin}}/ruff check --fix .

# Write what is made from the code's tables: the editors' schema, the schemas of tools' arguments, the settings' table, pages of the manual.
generate:
    {{bin}}/python -m tests.support.generated_files

# The manual as a site, in build/site. `just generate` writes the pages that are made from the code.
docs:
    {{bin}}/mkdocs build --strict --quiet

# A whole turn in the terminal, on a copy of a small project, with the offline model.
demo *arguments:
    {{bin}}/north-lsp demo {{arguments}}

# Times of this checkout, as tables: start-up, turns, searching, edits, the shell, long conversations.
bench:
    {{bin}}/python -m benchmarks.startup
    {{bin}}/python -m benchmarks.turns
    {{bin}}/python -m benchmarks.search
    {{bin}}/python -m benchmarks.edit
    {{bin}}/python -m benchmarks.shell
    {{bin}}/python -m benchmarks.conversations
    {{bin}}/python -m benchmarks.loading
    {{bin}}/python -m benchmarks.rounds
    {{bin}}/python -m benchmarks.life
    {{bin}}/python -m benchmarks.neighbors
