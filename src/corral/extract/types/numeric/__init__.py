"""Numbers, money and ratings."""
