"""Admission by quota: queues in cohorts, flavors, and who gives way."""
