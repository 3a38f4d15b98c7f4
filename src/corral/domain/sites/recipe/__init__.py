"""Recipes: the API calls that fill a page, recorded, edited and replayed."""
