"""Services: read, decide, commit. One file per feature; none knows a backend."""
