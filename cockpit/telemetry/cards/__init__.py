"""Series of any exporter become cards: one `Gpu` each, with what is doubtful about it. Pure."""
