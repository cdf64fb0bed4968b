"""Everything that the cockpit can do to a cluster, a file a family; `registry` lists them all.

To add a verb: write its file (its words, its plan, the rights it needs) and name it in `registry.VERBS`. Its
key, footer, help, palette entry, subcommand, marks and `audit apply` are made from that.
"""
