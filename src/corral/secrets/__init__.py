"""Encryption of what must not be readable at rest."""
