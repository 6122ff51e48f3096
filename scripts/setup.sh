#!/bin/sh
# Makes or refreshes the virtual environment with Amber (editable), all its extras and the development tools.
#
# usage: setup.sh [VENV [CONSTRAINTS]]     default: .venv constraints.txt; an empty CONSTRAINTS means the newest versions
#
# Works on a machine that has only Python 3.11 or later: uses uv when it is there, else pip; on Debian as root it also
# installs the package that Debian splits off from venv. It writes nothing outside the checkout but that package.
# Set PYTHON to choose the interpreter.
set -eu
cd "$(dirname "$0")/.."

venv=${1-.venv}
constraints=${2-constraints.txt}
unfinished=$venv/.unfinished

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# A shim such as pyenv's can be on the PATH and still not run, so each candidate is tried.
is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
        if is_new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# An environment is used again when it works and no earlier run was cut short inside it.
is_usable() { [ ! -e "$unfinished" ] && is_new_enough "$venv/bin/python" && "$venv/bin/python" -c 'import pip' 2>/dev/null; }

start_afresh() {
    rm -rf "$venv"
    mkdir -p "$venv"
    : >"$unfinished"
}

# Debian's Python comes without ensurepip: python3.X-venv brings it.
install_venv_package() {
    package=python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        say "$python can not make a virtual environment with pip in it."
        die "Install uv, or the package that has ensurepip (on Debian: apt-get install $package), then run this again."
    fi
    say "installing $package with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null && apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$package" >/dev/null ||
        die "apt-get could not install $package, and without it $python can not make a virtual environment."
}

create_with_pip() {
    say "making $venv with $python"
    "$python" -m venv "$venv" >/dev/null 2>&1 && return
    # A pip outside the environment can fill an empty one: no package and no root needed.
    if "$python" -m pip --version >/dev/null 2>&1; then
        start_afresh
        "$python" -m venv --without-pip "$venv" &&
            "$python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check pip && return
    fi
    install_venv_package
    start_afresh
    "$python" -m venv "$venv"
}

# The build backend is installed first, at its pinned version, and used without isolation: pip has changed its mind
# more than once about whether constraints reach an isolated build.
install_with() {
    : >"$unfinished"
    rm -f "$venv/.ready"
    backend=$("$venv/bin/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])') &&
        "$@" ${constraints:+-c "$constraints"} "$backend" &&
        PATH="$PWD/$venv/bin:$PATH" "$@" ${constraints:+-c "$constraints"} --no-build-isolation -e '.[dev]'
}

with_uv() {
    # uv would otherwise download a Python of its own, which many networks do not let through.
    export UV_PYTHON_DOWNLOADS=never
    if ! is_usable; then
        say "making $venv with uv and $python"
        start_afresh
        uv venv --quiet --allow-existing --seed --python "$python" "$venv" || return
    fi
    install_with uv pip install --quiet --python "$venv/bin/python"
}

with_pip() {
    if ! is_usable; then
        start_afresh
        create_with_pip || return
    fi
    install_with "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input
}

python=$(find_python) || die "Python 3.11 or later is needed and was not found (on Debian: apt-get install python3 python3-venv; or set PYTHON)."

if is_usable; then
    say "refreshing $venv"
else
    say "installing Amber and its tools into $venv (about half a minute)"
fi
if command -v uv >/dev/null && with_uv; then
    :
else
    # uv does not read pip's settings, so a package index that only pip knows of is a reason to come here after it.
    ! command -v uv >/dev/null || say "uv failed, trying pip"
    with_pip || die "the installation failed; what went wrong stands above. Run it again when that is mended: it starts from a clean state."
fi
# One step from unfinished to ready. The time stamp is that of the start: an edit made meanwhile is seen by the next make.
mv "$unfinished" "$venv/.ready"
say "$venv is ready"
