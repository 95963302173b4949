"""Says what to do if no model can be used. Pure."""

from __future__ import annotations

from north_lsp.providers.catalog.catalog import Catalog


def ways_to_a_model(known: Catalog) -> str:
    """Return a sentence with the three ways to get a model, and the local models that were found."""
    local = [model.selector for model in known.available() if model.source == "discovered" and model.provider.keyless]
    variables = [info.credentials[-1] for info in known.providers if info.default is not None and info.credentials]
    ways = [
        f"set {', '.join(variables[:-1])} or {variables[-1]} in the environment that starts your editor",
        "store a key with `north-lsp login`",
        "start a local server (Ollama, llama.cpp, LM Studio), or name one in models.yml with "
        "`north-lsp setup provider --preset local`",
    ]
    text = f"No model can be used yet: {'; '.join(ways)}."
    return f"{text} Found on this machine: {', '.join(local[:5])}." if local else text
