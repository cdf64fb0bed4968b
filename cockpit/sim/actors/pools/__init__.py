"""Machines behind pools: objects shaped as Cluster API's that turn into nodes, stage by stage."""
