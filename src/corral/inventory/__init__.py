"""What has been collected: folders, S3 buckets, records and databases, compared with what is expected."""
