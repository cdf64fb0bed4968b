"""What acts on a cluster through the port: kubelets, a scheduler, controllers, queues, pools, GPUs."""
