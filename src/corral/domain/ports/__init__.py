"""The interfaces between sibling packages: `engine` is written against them, `wiring` passes implementations."""
