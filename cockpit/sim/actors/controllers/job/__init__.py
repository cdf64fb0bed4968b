"""The Job controller: indexed and not, in the words and the order of the real one (pkg/controller/job)."""
