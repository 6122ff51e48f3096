"""``make bench``: the quick form of everything that can run here, or of what is named (``ARGS="floor ledger"``)."""

import sys

from benchmarks import async_ledger, floor, history, importing, ledger

QUICK = {
    "floor": lambda: floor.main([]),
    "importing": lambda: importing.main(["--passes", "1"]),
    "history": lambda: history.main([]),
    "ledger": lambda: ledger.main([]),
    "async_ledger": lambda: async_ledger.main(["--passes", "1", "--facts", "1000"]),
}


def main() -> None:
    """Run what is named, or all."""
    names = sys.argv[1:] or list(QUICK)
    unknown = [name for name in names if name not in QUICK]
    if unknown:
        sys.exit(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(QUICK)}.")
    for name in names:
        print(f"== {name}", flush=True)
        QUICK[name]()


if __name__ == "__main__":
    main()
