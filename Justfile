# Everything runs inside .venv, which `setup` creates; `just` itself is installed there (rust-just).
set shell := ["bash", "-euo", "pipefail", "-c"]

bin := justfile_directory() / ".venv/bin"

# Create .venv and install North with what its tests need.
setup:
    test -x {{bin}}/python || python3 -m venv .venv
    {{bin}}/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'

# Lint, types, import contracts and every test: what CI runs.
test: lint
    {{bin}}/python -m pytest -n auto

# Formatting, lint, types and the dependency direction.
lint:
    {{bin}}/ruff format --check .
    {{bin}}/ruff check .
    {{bin}}/mypy
    {{bin}}/lint-imports

# Rewrite the code in the project's format.
format:
    {{bin}}/ruff format .
    {{bin}}/ruff check --fix .

# A whole turn in the terminal, on a copy of a small project, with the offline model.
demo *arguments:
    {{bin}}/north-lsp demo {{arguments}}

# Start-up and turn times of this checkout.
bench:
    {{bin}}/python -m benchmarks.startup
