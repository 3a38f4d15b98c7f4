"""The pages of a list: its items, and the page that follows."""
