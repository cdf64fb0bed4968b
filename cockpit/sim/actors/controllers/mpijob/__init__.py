"""MPIJobs (kubeflow.org/v2beta1) as mpi-operator v0.6.0 runs them (pkg/controller/mpi_job_controller.go)."""
