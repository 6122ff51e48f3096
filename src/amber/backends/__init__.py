"""Backends: each implements the store contract once, knows no feature, and no other backend."""
