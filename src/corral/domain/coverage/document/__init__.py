"""Reads the data inventory document, `data_inventory.yaml`."""
