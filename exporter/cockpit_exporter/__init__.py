"""The node agent: GPU numbers of one node as Prometheus metrics. Knows nothing of the cockpit."""

__version__ = "0.1.0"
