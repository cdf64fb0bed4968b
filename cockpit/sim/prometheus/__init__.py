"""A Prometheus that stores nothing: what its targets said is worked out again for the moment asked about."""
