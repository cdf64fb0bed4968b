"""GPU samples from Prometheus: one vocabulary, joined to card and pod, each marked with how sure we are."""
