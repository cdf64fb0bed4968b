"""What `kubectl get` shows: `meta.k8s.io/v1` Tables with the printer columns of the real server."""
