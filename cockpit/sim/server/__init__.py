"""A Kubernetes API over HTTPS on loopback: storage, versions, list and watch, patches, discovery, rights."""
