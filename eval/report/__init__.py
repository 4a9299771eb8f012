"""The report: one HTML page, Markdown and JSON, built from trials alone."""
