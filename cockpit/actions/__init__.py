"""Every verb that changes the world: plan, show, confirm, perform, audit. Truth returns by the watch."""
