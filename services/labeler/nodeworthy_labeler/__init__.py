"""labeler."""
