"""The verdict on the data of runs: what a run brought, and what its verdict changes about its end."""
