"""Controllers as actors: what kube-controller-manager and mpi-operator do, on a port and an engine."""
