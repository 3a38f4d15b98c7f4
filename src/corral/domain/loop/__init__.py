"""The autonomous loop: when to reconcile next. Pure."""
