"""The paper's experiments: encoders, corpora, protocol, runs and reports. It is not published."""
