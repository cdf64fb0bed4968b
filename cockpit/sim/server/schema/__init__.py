"""What the served built-in kinds look like, custom resource definitions, and OpenAPI made of both."""
