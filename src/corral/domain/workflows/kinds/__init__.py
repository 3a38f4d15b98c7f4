"""The kinds of steps. To add one, write its module here and list its `StepKind` in `registry`."""
