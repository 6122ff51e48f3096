"""A store on a Postgres server. Not whole yet: there is no ``store`` in here, so no target opens it."""
