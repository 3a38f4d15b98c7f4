"""Builds image datasets: discovery, download, validation, duplicates, labels, exports, report."""
