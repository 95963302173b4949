# Everything runs inside .venv, which `just setup` (or the README's one-liners) creates.
set shell := ["bash", "-euo", "pipefail", "-c"]

bin := ".venv/bin"

# Create .venv and install North with what its tests need.
setup:
    test -x {{bin}}/python || python3 -m venv .venv
    {{bin}}/python -m pip install --quiet --editable '.[dev]'
