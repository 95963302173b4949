"""Holds requests that a model server in another language has recorded to the vendors' rules.

`python -m tests.support.rules.recorded_requests FILE`: each line of the file is a JSON list of a path and a body.
Prints what would have been refused and exits with 1; also where nothing was recorded.
"""

import json
import sys
from pathlib import Path

from tests.support.rules.check import check_http


def main(file: Path) -> int:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    refused = [found.message for path, body in rows if (found := check_http(path, body)) is not None]
    sys.stdout.writelines(f"{message}\n" for message in refused)
    if not rows:
        sys.stdout.write("no request was recorded\n")
    return 1 if refused or not rows else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
