#!/bin/sh
# Rewrites constraints.txt with the newest versions that pyproject.toml admits, taken from an environment made for it.
# Only names and versions: a constraint must hold whatever package index a machine uses.
set -eu
cd "$(dirname "$0")/.."

venv=.lock-venv
trap 'rm -rf "$venv" constraints.txt.new' EXIT
rm -rf "$venv"
sh scripts/setup.sh "$venv" ''
"$venv/bin/python" -m pip --disable-pip-version-check freeze --exclude-editable >constraints.txt.new
# One order on every machine, whatever its locale.
LC_ALL=C sort -f -o constraints.txt.new constraints.txt.new
if grep -v '^[A-Za-z0-9._-]*==[A-Za-z0-9.+!_-]*$' constraints.txt.new >&2; then
    echo "lock: the lines above are not name==version, constraints.txt is left as it was" >&2
    exit 1
fi
mv constraints.txt.new constraints.txt
echo "lock: constraints.txt has $(wc -l <constraints.txt) pins" >&2
