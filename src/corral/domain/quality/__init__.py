"""Judge the data of a run by the data of earlier runs."""
