"""Training of the T5 graph autoencoder."""
