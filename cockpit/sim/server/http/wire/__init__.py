"""Bodies in Kubernetes' protobuf: what kubectl sends for some verbs, whatever a server says it prefers."""
