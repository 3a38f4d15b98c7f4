"""The only code that opens connections to the outside."""
