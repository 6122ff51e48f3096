"""``python -m amber``: the command line."""

from amber.cli import main

if __name__ == "__main__":
    main()
