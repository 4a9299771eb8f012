"""Training of the distilled router: labels, classifier, calibration, ONNX."""
