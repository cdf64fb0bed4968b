"""`python -m cockpit_exporter` is `cockpit-exporter`."""

import sys

from cockpit_exporter.cli import main

if __name__ == "__main__":
    sys.exit(main())
