#!/bin/sh
# Installs specum @VERSION@: downloads the archive of this system, compares its SHA-256
# with the one below, and puts the programs into a folder of yours. Needs no root.
#
#   SPECUM_PREFIX      where to: <prefix>/bin/specum and specum-net (default: ~/.local)
#   SPECUM_DOWNLOADS   where from, without the file's name
set -eu

version='@VERSION@'
downloads=${SPECUM_DOWNLOADS:-https://github.com/specum/specum/releases/download/v$version}

# The archives of this release: checksum and target.
checksums='@CHECKSUMS@'

fail() {
  printf 'specum was not installed: %s\n' "$1" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# The target that this system runs.
target() {
  case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no build for the processor $(uname -m); \`cargo install specum\` builds one" ;;
  esac
  case $(uname -s) in
    Linux) echo "$machine-unknown-linux-musl" ;;
    Darwin) echo "$machine-apple-darwin" ;;
    *) fail "there is no build for $(uname -s); on Windows use WSL, npm or the .zip of the release" ;;
  esac
}

download() {
  if has curl; then
    curl --fail --silent --show-error --location --output "$2" "$1"
  elif has wget; then
    wget --quiet --output-document="$2" "$1"
  else
    fail "neither curl nor wget is on PATH"
  fi || fail "cannot download $1"
}

sha256() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  else
    fail "neither sha256sum nor shasum is on PATH, so the download cannot be checked"
  fi | cut -d ' ' -f 1
}

# In a function, so that a download of this script that breaks off runs nothing.
main() {
  target=$(target)
  wanted=$(printf '%s\n' "$checksums" | awk -v target="$target" '$2 == target { print $1 }')
  [ -n "$wanted" ] || fail "release $version has no build for $target"
  prefix=${SPECUM_PREFIX:-${HOME:?is not set; set SPECUM_PREFIX}/.local}
  name=specum-$version-$target

  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  trap 'exit 1' HUP INT TERM
  download "$downloads/$name.tar.gz" "$place/archive.tar.gz"
  found=$(sha256 "$place/archive.tar.gz")
  [ "$found" = "$wanted" ] || fail "$name.tar.gz has the checksum $found, not $wanted"
  tar -xzf "$place/archive.tar.gz" -C "$place" || fail "cannot unpack $name.tar.gz"

  # A rename, so that a specum that is running keeps its file.
  mkdir -p "$prefix/bin" || fail "cannot make $prefix/bin; set SPECUM_PREFIX"
  for program in specum-net specum; do
    cp "$place/$name/$program" "$prefix/bin/.$program.new" || fail "cannot write to $prefix/bin"
    chmod 755 "$prefix/bin/.$program.new"
    mv -f "$prefix/bin/.$program.new" "$prefix/bin/$program" || fail "cannot write $prefix/bin/$program"
  done

  echo "specum $version is in $prefix/bin/specum"
  case :$PATH: in
    *":$prefix/bin:"*) echo "Try it: specum demo" ;;
    *) echo "Put $prefix/bin on your PATH, then: specum demo" ;;
  esac
}

main
