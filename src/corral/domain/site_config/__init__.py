"""The configuration of sites: limits from files, from the API and from the settings, merged."""
