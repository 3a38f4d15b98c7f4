"""Own code: the `page` that a user's function `parse(page)` takes, its call, and the records it returns."""
