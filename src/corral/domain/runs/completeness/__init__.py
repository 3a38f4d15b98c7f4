"""Incomplete records of runs whose page was read."""
