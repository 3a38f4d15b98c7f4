"""Statements by subject; each function runs in the transaction of its caller."""
