"""The command line: parse, call the facade, print."""

from __future__ import annotations

import sys

#: What the extra ``cli`` installs.
_EXTRA = ("click", "rich")


def main() -> None:
    """Run the command ``amber`` and end the process with its exit code."""
    try:
        from amber.cli.app import cli
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        print(
            f"error: The command line needs {missing}, which is not installed: pip install 'amber[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main(prog_name="amber")
