"""What is asked of a page: fields, the recipes that find them, and the rules for their values."""
