"""The Deployment controller, after pkg/controller/deployment."""
