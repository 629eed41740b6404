"""One question about cost per file."""
