"""The pages of a crawl: requested, rendered, saved."""
