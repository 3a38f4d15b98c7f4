"""Looking after the processes of an installation: plan, start, watch, stop."""
