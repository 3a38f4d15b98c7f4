"""Code of ours beside the library that could replace it: results on one table, time per call, and import cost."""
