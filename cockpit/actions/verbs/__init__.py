"""Everything that the cockpit can do to a cluster, as values; `registry` lists them all.

To add a verb: write its value here, name it in `registry.VERBS`, and write its planner (options, rights,
plan).
Its key, footer, help, palette entry, subcommand, marks and `audit apply` are made from that.
"""
