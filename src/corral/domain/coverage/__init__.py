"""Coverage: expected keys, the inventory of collected data, and the tasks that close the gaps between them."""
