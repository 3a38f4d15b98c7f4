"""On the PYTHONPATH of scripts: makes libraries use the proxy of the environment if they do not do so themselves."""
