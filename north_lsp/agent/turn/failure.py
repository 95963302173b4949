"""How a turn ends whose model gives no answer."""

from __future__ import annotations

from north_lsp.providers.base import Failed


class ModelFailed(Exception):
    """The model gave no answer. The log and the editor have been told; `failure` is for the code that ends the
    prompt."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure
