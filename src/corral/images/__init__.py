"""Images decoded, resized and hashed in processes that can be killed."""
