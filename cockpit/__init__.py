"""gpu-cockpit: a terminal cockpit for GPU clusters on Kubernetes."""

__version__ = "0.1.0"
