"""Image datasets: configuration, validation, duplicates, labels and manifest, without I/O."""
