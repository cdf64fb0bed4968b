"""Scenarios: a cluster, what happens in it, and when; written as YAML, played on the embedded cluster."""
