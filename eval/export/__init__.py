"""Export of a finished run: a folder that others can load, with a model card, and its way to the Hugging Face Hub."""
