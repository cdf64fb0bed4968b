"""Pure projections of the store: columns, filters, sorting, words and numbers. Knows no Textual."""
