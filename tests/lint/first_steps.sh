#!/bin/sh
# SPDX-License-Identifier: MIT
# quickstart and runtests, before they build: no path that configure refuses,
# configure again when packages came or went, and print each stage of apt-get
# when it begins.
set -eu
srcdir=${srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
	echo "$*"
	exit 1
}

# Nothing is installed from here, whatever fails.
mkdir "$work/bin"
for name in apt-get sudo; do
	printf '#!/bin/sh\necho %s: was called >&2\nexit 1\n' $name \
		>"$work/bin/$name"
done
cat >"$work/bin/dpkg-query" <<'END'
#!/bin/sh
for package; do :; done
! grep -qx "$package" "$INSTALLED" || echo 'install ok installed'
END
chmod +x "$work"/bin/*
INSTALLED=$work/installed
PATH=$work/bin:$PATH
export INSTALLED PATH

tab=$(printf '\t')
# shellcheck disable=SC2016 # that is the name
for name in 'a b' "a${tab}b" "it's" 'a&b' '$a' 'a\b' 'a#b' 'a`b'; do
	top="$work/$name/top"
	mkdir -p "$top/tools"
	cp "$srcdir/quickstart" "$srcdir/runtests" "$top"
	cp "$srcdir/tools/packages.sh" "$top/tools"
	for script in quickstart runtests; do
		: >"$INSTALLED"
		! "$top/$script" >"$work/said" 2>&1 ||
			fail "$script: no error in $top"
		grep -q 'Move the sources' "$work/said" ||
			fail "$script: no advice in $top: $(cat "$work/said")"
		! grep -q 'was called' "$work/said" ||
			fail "$script: packages were installed first"
		[ ! -e "$top/build" ] || fail "$script: built first"
	done
done

# shellcheck source=tools/packages.sh
. "$srcdir/tools/packages.sh"
source_path_check '/home/me/träce-pulse_1.0+(x)/~tp' || fail "a good path"
packages_changed "$work/note" one two || fail "no note, no change"
echo one >"$INSTALLED"
packages_note "$work/note" one two
! packages_changed "$work/note" one two || fail "changed by nobody"
echo two >>"$INSTALLED"
packages_changed "$work/note" one two || fail "two came"
packages_note "$work/note" one two
echo two >"$INSTALLED"
packages_changed "$work/note" one two || fail "one went"

# This apt-get ends only after its stage was printed.
cat >"$work/bin/apt-get" <<'END'
#!/bin/sh
[ "$1" = install ] || exit 1
echo '0 upgraded, 12 newly installed, 0 to remove and 3 not upgraded.'
echo 'Need to get 1,234 kB of archives.'
for package in one two; do
	echo "Unpacking $package (1.0-1) ..."
done
tries=0
until grep -q 'unpacking 12 packages' "$SAID"; do
	tries=$((tries + 1))
	[ $tries -lt 200 ] || exit 1
	sleep 0.05
done
echo 'Setting up one (1.0-1) ...'
END
cat >"$work/bin/sudo" <<'END'
#!/bin/sh
exec "$@"
END
SAID=$work/said
export SAID
: >"$INSTALLED"
packages_install one two >"$SAID" 2>&1 || fail "installing: $(cat "$SAID")"
cat >"$work/wanted" <<'END'
Installing with apt-get: one two
  downloading 1,234 kB of archives.
  unpacking 12 packages
  setting up 12 packages
END
diff "$work/wanted" "$SAID" || fail "stages of an installation"
