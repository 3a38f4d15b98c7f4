"""How those who execute runs are told that some wait. Nothing here is ever needed for a run to be executed, or once."""
