"""Job rows of every kind, and job templates."""
