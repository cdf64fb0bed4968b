"""From a verb to its outcome: dry run, question, the same plan made again, sending, audit, reading back."""
