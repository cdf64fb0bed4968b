"""What the served built-in kinds look like, and custom resource definitions."""
