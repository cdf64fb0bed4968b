"""The bed by hand: `python -m tests.bed up | build | exec -- COMMAND | enter RUN_DIR | doctor`."""

import sys

from tests.bed.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
