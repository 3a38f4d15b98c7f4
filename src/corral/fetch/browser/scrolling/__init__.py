"""Pages that show more when they are scrolled, or when a button is pressed."""
