#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arm64.sh: what a build for aarch64 needs besides Debian's cross compiler, without a foreign architecture of the whole system.
#
#   arm64.sh DIR
#
# Downloads the libraries of LIBRARIES for arm64 with apt, from the machine's own sources and checked with its keys, unpacks them under
# DIR/root and writes DIR/cross.ini, a cross file for Meson. Needs no root; 10 MB and some seconds. What is there is kept.
# Exit 77: not to be had, with the reason as the last line.
set -eu
LIBRARIES="libsodium23 libsodium-dev libseccomp2 libseccomp-dev libyaml-0-2 libyaml-dev libcmocka0 libcmocka-dev"
[ $# = 1 ] || { sed -n '5p' "$0" >&2; exit 2; }

missing() {
    echo "no aarch64 build: $1"
    exit 77
}
for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg-deb; do
    command -v $tool >/dev/null || missing "no $tool"
done
mkdir -p "$1"
dir=$(cd "$1" && pwd)
if [ ! -e "$dir/complete" ]; then
    rm -rf "$dir/root" "$dir/debs"
    mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/debs"
    : >"$dir/apt/status"
    # apt with a state of its own: what the machine has installed, and for which architecture, stays as it is.
    set -- -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$dir/apt" -o Dir::State::lists="$dir/apt/lists" \
        -o Dir::State::status="$dir/apt/status" -o Dir::Cache="$dir/apt" -o APT::Sandbox::User=
    # shellcheck disable=SC2086
    { apt-get "$@" update && cd "$dir/debs" && apt-get "$@" download $LIBRARIES; } >"$dir/log" 2>&1 || missing "arm64 packages: $(grep -m1 '^[EW]:' "$dir/log")"
    for deb in "$dir"/debs/*.deb; do
        dpkg-deb -x "$deb" "$dir/root"
    done
    rm -rf "$dir/apt" "$dir/debs"
    : >"$dir/complete"
fi
cat >"$dir/cross.ini" <<END
[constants]
libs = '$dir/root/usr/lib/aarch64-linux-gnu'
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu']
[properties]
sys_root = '$dir/root'
pkg_config_libdir = libs / 'pkgconfig'
emulator = 'qemu-aarch64 -L /usr/aarch64-linux-gnu'
[built-in options]
c_link_args = ['-Wl,-rpath,' + libs, '-Wl,-rpath-link,' + libs]
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
