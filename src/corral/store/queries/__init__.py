"""Statements by subject; each function runs in the transaction it is given."""
