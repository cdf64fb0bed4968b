"""Pure projections of the store: columns, filters, sorting, words and numbers for the eye. Knows no Textual."""
