"""The command `cockpit`, also as `python -m cockpit`.

Names for a shell's completion come first: they cannot wait for the grammar to be imported.
"""

import sys

from cockpit.commands import complete_names


def main() -> int:
    """Run one command; the answer is the exit code."""
    if sys.argv[1:2] == ["complete-names"]:
        return complete_names.run(sys.argv[2:])
    from cockpit import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
