"""Pure decisions over values: no input, no output, no clock, no randomness that was not passed in."""
