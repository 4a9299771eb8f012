"""The T5 graph autoencoder: rank corrections and values cross, the receiver's model writes the graph."""
