"""Search for examples that break a property, for a number of minutes: `just fuzz 20 [test path …]`.

Each round runs every property test with fresh random examples, until the time is up. Hypothesis prints what it finds
and keeps it for the next search; write it into the test as an `@example`, so that every run of the suite includes it.
"""

import os
import random
import subprocess
import sys
import time


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    paths = sys.argv[2:] or ["tests"]
    end = time.monotonic() + minutes * 60
    rounds = 0
    while (left := end - time.monotonic()) > 0:
        seed = random.SystemRandom().randrange(2**32)
        rounds += 1
        print(f"round {rounds}, seed {seed}, {left / 60:.1f} minutes left", flush=True)
        command = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "hypothesis", "--ignore", "tests/e2e"]
        command += ["-o", "hanging_seconds=0"]
        command += [f"--hypothesis-seed={seed}", *paths]
        try:
            done = subprocess.run(command, env={**os.environ, "NORTH_TEST_EXAMPLES": "random"}, timeout=left + 600)
        except subprocess.TimeoutExpired:
            print("a round did not finish within ten minutes after the time was up")
            return 1
        if done.returncode:
            return done.returncode
    print(f"{rounds} rounds, nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
