"""Programs of local images: run as files by another Python, they import nothing but the standard library."""
