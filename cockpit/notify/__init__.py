"""Findings that leave the cockpit: to a webhook, to a command, as metrics."""
