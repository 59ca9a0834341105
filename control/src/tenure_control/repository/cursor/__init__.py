"""Trigger cursors: claims, and the one decision that ends each."""
