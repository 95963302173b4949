"""The folder of a document that shows the user what they decide on, where an editor has no view of its own for it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from north_lsp.storage.janitor import REVIEW_FOLDER


def make_review_folder() -> Path:
    """Make a new one; the caller removes it, or, after a kill, the janitor. Raises OSError."""
    return Path(os.path.realpath(tempfile.mkdtemp(prefix=REVIEW_FOLDER)))
