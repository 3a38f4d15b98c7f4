"""One contract, two databases. Every public method of `Store` is one transaction."""
