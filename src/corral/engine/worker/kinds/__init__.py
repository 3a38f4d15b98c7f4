"""One module per kind of run; `registry` lists them."""
