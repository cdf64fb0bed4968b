"""Who may do what on the embedded server: tokens, role based access control, and the reviews that tell."""
