"""Benchmarks: ratios in one run against a floor or a peer. Never asserted in CI."""
