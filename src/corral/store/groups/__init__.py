"""The groups of store methods: one class per subject, each over one database. `Store` holds one of each."""
