"""Pages of thirty templates, and what breaks them: how often the verdict on the data notices."""
