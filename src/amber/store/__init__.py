"""The store contract and what every backend shares."""
