"""What stays on this host: configuration, audit lines and small choices. Files are 0600 and bounded."""
