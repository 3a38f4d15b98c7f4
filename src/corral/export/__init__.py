"""Export collected data as files. Each format has a writer that takes records in batches and uses constant memory."""
