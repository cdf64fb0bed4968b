"""What needs a human, ranked, with the evidence."""
