"""What several actors share: a recorder of events, machines of Cluster API, drains, the load of GPUs."""
