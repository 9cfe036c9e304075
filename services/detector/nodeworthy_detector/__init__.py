"""detector."""
