"""Run folders, which belong to one configuration each: manifest, lock, journal."""
