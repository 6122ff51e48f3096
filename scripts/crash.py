"""Kill writers with kill -9 for many rounds, and look after each whether everything agrees and nothing is lost.

    python scripts/crash.py --rounds 200 --seed 1

Exit code 1 when a round failed: the seed and round are said and the file is kept. A seed fixes what the writers do and
when they are killed, but not how far they come until then.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.crash.storm import Storm  # noqa: E402

#: Rounds on one file: then it has grown enough that looking at all of it takes longer than the round.
ON_ONE_FILE = 5


def main() -> int:
    """Run the rounds that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="amber-crash-"))
    answered, failed, begun = 0, 0, time.monotonic()
    storm: Storm | None = None
    for number in range(arguments.rounds):
        if storm is None or number % ON_ONE_FILE == 0:
            seed = arguments.seed * 1_000_000 + number
            storm = Storm(folder / f"{seed}.db", seed)
        try:
            answered += storm.blow()
        except Exception:
            failed += 1
            print(f"\nround {number + 1} FAILED: storm seed {storm.seed}, its round {storm.round}, file {storm.path}")
            traceback.print_exc()
            storm = None
        took = time.monotonic() - begun
        print(f"\r{number + 1}/{arguments.rounds} rounds, {answered} answered, {failed} failed, {took:.0f} s", end="")
        sys.stdout.flush()
    print(f"\nseed {arguments.seed}: {arguments.rounds} rounds, {answered} operations answered, {failed} rounds failed")
    if not failed:
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
