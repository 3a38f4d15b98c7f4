"""Sites: configuration, scraping sessions, alerts."""
