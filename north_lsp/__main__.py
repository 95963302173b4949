"""Entry point of `python -m north_lsp`. The current folder is a project's, so nothing is imported from it."""

from __future__ import annotations

import os
import sys

if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(os.curdir):
    del sys.path[0]

from north_lsp.cli.main import main

sys.exit(main())
