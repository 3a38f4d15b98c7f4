"""The composition root: the only package that knows concrete classes."""
