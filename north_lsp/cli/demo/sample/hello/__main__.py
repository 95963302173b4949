"""The command line: `python3 -m hello NAME...`."""

import sys

from hello.greeting import greet

if __name__ == "__main__":
    print(greet(*sys.argv[1:]))
