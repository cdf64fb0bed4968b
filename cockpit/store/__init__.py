"""The only mutable truth: tables of records, their indexes, what changed, and one coalesced signal."""
