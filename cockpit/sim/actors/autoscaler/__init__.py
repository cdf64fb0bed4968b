"""One autoscaler in the shape of cluster-autoscaler: its status ConfigMap, its events, its patience."""
