"""`python -m north_lsp`: from here on, nothing is imported from the folder where it was called, a project's."""

import os
import sys

if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(os.curdir):
    del sys.path[0]

from north_lsp.cli.main import main

sys.exit(main())
