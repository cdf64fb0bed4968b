"""The kinds that are served from the start: their rules and defaults, one file per family."""
