"""Notify nodes of waiting runs. Neither executing a run nor executing it only once depends on these messages."""
