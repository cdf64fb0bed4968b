"""What happens to nodes and to the pods on them: heartbeats, taints, evictions, daemons."""
