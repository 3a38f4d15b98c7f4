"""Put on PYTHONPATH of scripts: makes libraries use the proxy of the environment that do not do so by themselves."""
