#!/bin/sh
# Installs the servers that the tests start for themselves and that no wheel brings: PostgreSQL 15, Redis 7.0 and
# PgBouncer from Debian 12's packages. Does nothing when they are there. None of them is started or set up.
set -eu

say() { printf 'servers: %s\n' "$*" >&2; }

missing=
[ -x /usr/lib/postgresql/15/bin/postgres ] || missing="$missing postgresql-15"
[ -x /usr/bin/redis-server ] || [ -x /usr/local/bin/redis-server ] || missing="$missing redis-server"
PATH="$PATH:/usr/sbin" command -v pgbouncer >/dev/null || missing="$missing pgbouncer"
command -v setpriv >/dev/null || missing="$missing util-linux"
[ -n "$missing" ] || exit 0

root=
if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null && root="sudo -n"
fi
if ! command -v apt-get >/dev/null || { [ "$(id -u)" -ne 0 ] && [ -z "$root" ]; }; then
    say "the tests need these Debian packages:$missing"
    say "Install them as root (apt-get install --no-install-recommends$missing), then run this again."
    exit 1
fi

# Debian asks this program before it starts a freshly installed service; 101 means no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '$root rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | $root tee "$policy" >/dev/null
    $root chmod 755 "$policy"
fi
say "installing$missing with apt-get (once)"
log=$(mktemp)
# shellcheck disable=SC2086
if ! { $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 \
    --no-install-recommends $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    say "apt-get failed; what went wrong stands above."
    exit 1
fi
rm -f "$log"
