"""Folders of files that runs leave behind."""
