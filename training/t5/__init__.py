"""Training of the T5 graph autoencoder: `examples` encodes the corpus, `train` is `handoff train t5`."""
