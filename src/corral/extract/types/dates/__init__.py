"""Dates, times and durations."""
