"""Commands for image datasets."""
