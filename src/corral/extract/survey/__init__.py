"""Analyse a page for a person who writes a job."""
