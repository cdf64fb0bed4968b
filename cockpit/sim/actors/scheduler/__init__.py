"""A scheduler in the words of kube-scheduler 1.36, on a port."""
