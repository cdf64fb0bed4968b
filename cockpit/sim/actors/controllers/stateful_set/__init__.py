"""StatefulSets: pods with names and claims that stay theirs."""
