"""What the record of a run lacks although the page was read."""
