"""The systems Corral is compared with, each in its best honest configuration."""
