"""``make bench``: run what can run by itself."""

from benchmarks.floor import main

main()
