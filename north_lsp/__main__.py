"""`python -m north_lsp`."""

import sys

from north_lsp.cli import main

sys.exit(main())
