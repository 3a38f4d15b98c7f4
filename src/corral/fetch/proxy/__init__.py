"""The loopback forward proxy and the credentials of a job's proxy."""
