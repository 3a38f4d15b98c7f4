"""Alerts: what a report has to say for a message to be sent, and to whom."""
