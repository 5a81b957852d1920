"""Benchmarks: speed, memory and quality beside other libraries, measured in the same run."""
