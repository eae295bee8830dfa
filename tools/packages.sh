# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What quickstart and runtests share: the Debian packages that they install, and
# how. Sourced.

# shellcheck disable=SC2034 # used by those who source this
PACKAGES_BUILD="autoconf automake make gcc libc6-dev pkg-config
	libcurl4-gnutls-dev libdeflate-dev libevent-dev libinih-dev libjansson-dev liburcu-dev
	libseccomp-dev libsqlite3-dev"
# shellcheck disable=SC2034
PACKAGES_READ="python3 babeltrace2"
# shellcheck disable=SC2034
PACKAGES_TRACE="lttng-tools liblttng-ust-dev"
# For tracepulse-capture.
# shellcheck disable=SC2034
PACKAGES_CAPTURE="libtrace3-dev libpcap-dev nettle-dev libcap-dev zlib1g-dev libbz2-dev liblzma-dev"
# For tracepulse-send and Kafka.
# shellcheck disable=SC2034
PACKAGES_KAFKA="librdkafka-dev"
# For tracepulse-ftrace, and what it works with.
# shellcheck disable=SC2034
PACKAGES_FTRACE="libzstd-dev trace-cmd"
# shellcheck disable=SC2034
# For the plug-in of babeltrace2.
# shellcheck disable=SC2034
PACKAGES_PLUGIN="libbabeltrace2-dev libprotobuf-c-dev protobuf-c-compiler"
# shellcheck disable=SC2034
PACKAGES_TEST="babeltrace check clang clang-format shellcheck git iproute2
	nftables openssh-client prometheus stunnel4 $PACKAGES_CAPTURE
	kcat libtrace-tools systemd tcpdump tshark zsh jq sqlite3 python3-bt2 protobuf-compiler
	$PACKAGES_FTRACE $PACKAGES_KAFKA $PACKAGES_PLUGIN"

# What the tests of the status page need: programs, which need not be Debian's,
# and modules in the directory named. Fails where they cannot be had.
packages_page()
{
	page_missing=ca-certificates # without it, npm trusts no server
	command -v chromium >/dev/null ||
		page_missing="$page_missing chromium"
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		page_missing="$page_missing nodejs npm"
	fi
	# shellcheck disable=SC2086 # a list of words
	packages_install $page_missing || return 1
	tests/page/install "$1"
}

# The directory named gets an sshd, which is unpacked and not installed: the
# package would start a server that lets users of this machine log in.
packages_sshd()
{
	[ ! -x "$1/usr/sbin/sshd" ] || return 0
	# shellcheck disable=SC2046 # a list of words
	packages_install $(apt-cache depends openssh-server |
		sed -n 's/^  Depends: \(lib[^ ]*\)$/\1/p') || return 1
	mkdir -p "$1"
	(cd "$1" && apt-get download -qq openssh-server &&
		dpkg -x openssh-server_*.deb .)
}

# The directory named gets the capture files of tcpdump's tests, from the source
# package at the mirror of the binary one. Lists and settings of apt are its own.
packages_capture_files()
{
	[ ! -d "$1/tests" ] || return 0
	mirror=$(apt-get download --print-uris tcpdump | sed -n "s,^'\(.*\)/pool/.*,\1,p")
	[ -n "$mirror" ] || return 1
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	mkdir -p "$1/lists/partial" "$1/archives/partial"
	echo "deb-src $mirror $codename main" >"$1/sources.list"
	cat >"$1/apt.conf" <<END
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$1/lists";
Dir::Cache "$1";
APT::Sandbox::User "";
END
	(cd "$1" && export APT_CONFIG=apt.conf && apt-get update -qq &&
		apt-get source -qq --download-only tcpdump &&
		tar -xf tcpdump_*.orig.tar.?z --strip-components=1 \
			--wildcards '*/tests/*.pcap' '*/tests/*.pcapng')
}

# Those of the packages named that are not installed.
packages_missing()
{
	for package in "$@"; do
		dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null |
			grep -q '^install ok installed$' || printf '%s ' "$package"
	done
}

# Is something installed that was not at the last packages_note FILE, or gone?
# Also when there was none.
packages_changed()
{
	note=$1
	shift
	[ ! -f "$note" ] || [ "$(packages_missing "$@")" != "$(cat "$note")" ]
}

packages_note()
{
	note=$1
	shift
	packages_missing "$@" >"$note"
}

# configure and make take only some characters in the path of the sources.
# Fails with advice, before anything is installed or built.
source_path_check()
{
	newline='
'
	case $1 in
	*[\\\"\#\$\&\'\`\ \	]* | *"$newline"*) ;;
	*) return 0 ;;
	esac
	echo "configure does not work in a path with a blank or one of" \
		"\\ \" # \$ & ' \`:" >&2
	echo "  $1" >&2
	echo "Move the sources to another path." >&2
	return 1
}

# As root, or by sudo.
packages_as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

# apt-get install. Prints each stage as it begins, since all of it may take minutes.
packages_apt_install()
{
	{
		packages_as_root LC_ALL=C apt-get install -q -y \
			--no-install-recommends "$@" && echo "apt-get: done"
	} | {
		count=
		stage=
		while read -r line; do
			before=$stage
			case $line in
			*" newly installed, "*)
				count=${line% newly installed, *}
				count=${count##* } ;;
			"Need to get "*) stage="downloading${line#Need to get}" ;;
			"Unpacking "*) stage="unpacking $count packages" ;;
			"Setting up "*) stage="setting up $count packages" ;;
			"apt-get: done") exit 0 ;;
			esac
			[ "$stage" = "$before" ] || echo "  $stage"
		done
		exit 1
	}
}

# Install those that are missing. Fails with advice when that cannot be.
packages_install()
{
	if ! command -v dpkg-query >/dev/null; then
		echo "dpkg not found: install the contents of these Debian" \
			"packages in another way:" "$@" >&2
		return 0
	fi
	missing=$(packages_missing "$@")
	[ -n "$missing" ] || return 0
	echo "Installing with apt-get: ${missing% }"
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		echo "Installing packages requires root or sudo. Run as root:" >&2
		echo "  apt-get install --no-install-recommends $missing" >&2
		return 1
	fi
	# shellcheck disable=SC2086 # a list of words
	packages_apt_install $missing 2>/dev/null && return 0
	# The package lists may be old or missing.
	echo "  updating the package lists"
	packages_as_root apt-get update -qq || return 1
	# shellcheck disable=SC2086
	packages_apt_install $missing && return 0
	echo "apt-get could not install: $missing" >&2
	return 1
}
