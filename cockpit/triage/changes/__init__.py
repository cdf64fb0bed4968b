"""The smallest changes that start what waits, each tried on the changed cluster before it is offered."""
