"""What stores over SQL databases share: the statements of the contract and what they mean.

Statements are written in what SQLite and Postgres have in common, with ``?`` for values; what only one of them has is
an ``Engine``'s. A store may rewrite the text of a statement on its way to the driver (see ``postgres.accent``).
"""
