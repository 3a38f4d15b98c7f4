"""Lists over several pages: how the next page is found, and which items were listed so far."""
