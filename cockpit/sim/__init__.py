"""The embedded cluster: a Kubernetes API server and the actors that bring its objects to life.

The cockpit reaches it only through its kubeconfig, as any other cluster.
"""
