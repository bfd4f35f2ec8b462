#!/bin/sh
# Installs the atrium command for the user that runs this script. It needs no root.
#
#   sh install.sh              # the latest release
#   sh install.sh v1.2.3       # another release
#
# PREFIX is the directory to install below, $HOME/.local by default. ATRIUM_RELEASES is the address of the releases. The
# script compares the SHA-256 of the archive with checksums.txt of the release, and installs nothing if they differ.
set -eu

releases=${ATRIUM_RELEASES:-https://github.com/atrium-hq/atrium/releases}
prefix=${PREFIX:-$HOME/.local}
version=${1:-}

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

# fetch URL FILE
fetch() {
	if command -v curl >/dev/null; then
		curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"
	elif command -v wget >/dev/null; then
		wget --quiet --output-document="$2" "$1"
	else
		fail "curl or wget is needed"
	fi || fail "$1 could not be downloaded"
}

sha256() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	elif command -v shasum >/dev/null; then
		shasum -a 256 "$1"
	else
		fail "sha256sum or shasum is needed"
	fi | cut -d ' ' -f 1
}

[ "$(uname -s)" = Linux ] || fail "releases are for Linux; on other systems use the container image"
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m)" ;;
esac

if [ -n "$version" ]; then
	from=$releases/download/$version
else
	from=$releases/latest/download
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fetch "$from/checksums.txt" "$work/checksums.txt"
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(atrium_[^ /]*_linux_$arch\.tar\.gz\)$/\1/p" "$work/checksums.txt")
[ "$(printf '%s\n' "$archive" | grep -c .)" = 1 ] || fail "checksums.txt names no archive for linux_$arch"
want=$(grep "  $archive\$" "$work/checksums.txt" | cut -d ' ' -f 1)

fetch "$from/$archive" "$work/$archive"
got=$(sha256 "$work/$archive")
[ "$got" = "$want" ] || fail "$archive has the checksum $got, want $want: nothing was installed"

tar -xzf "$work/$archive" -C "$work"
folder=$work/${archive%.tar.gz}
mkdir -p "$prefix/bin" "$prefix/share/man/man1"
install -m 755 "$folder/atrium" "$prefix/bin/atrium.new"
mv "$prefix/bin/atrium.new" "$prefix/bin/atrium" # replaces the command of a running server
install -m 644 "$folder"/man/man1/*.1 "$prefix/share/man/man1"

"$prefix/bin/atrium" --version >/dev/null || fail "$prefix/bin/atrium does not run"
echo "Installed $prefix/bin/atrium $("$prefix/bin/atrium" --version)."
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "Add $prefix/bin to your PATH." ;;
esac
echo "Start with: atrium serve"
