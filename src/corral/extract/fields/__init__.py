"""Fields of a document: found by recipe or by name, converted to their types, checked by their rules."""
