"""Models that run inside a protocol; torch and transformers are imported when one is loaded."""
