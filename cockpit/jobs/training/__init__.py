"""A training run, read: lines of its log by rank, how far and how fast it is, who is slow, what hangs."""
