"""The memory of AI agents, kept like a database."""
