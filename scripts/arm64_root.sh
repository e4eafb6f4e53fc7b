#!/bin/sh
# Makes build/root_arm64: Debian's libraries for arm64, which scripts/arm64.cmake builds with. They are unpacked, and none
# is installed.
#
# Exit status: 0 it is there; 77 it cannot be made here.
set -eu
cd -P "$(dirname "$0")/.."
root=$(pwd -P)/build/root_arm64
[ ! -e "$root/complete" ] || exit 0
packages="debootstrap qemu-user-static binutils-aarch64-linux-gnu"
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! command -v qemu-aarch64-static >/dev/null ||
  ! command -v aarch64-linux-gnu-ld >/dev/null; then
  echo "not tried: root is needed, and apt-get install $packages"
  exit 77
fi
libraries=libc6-dev,libstdc++-12-dev,libboost-context-dev,libfmt-dev,libcli11-dev,nlohmann-json3-dev,catch2,libbenchmark-dev,libopenblas-dev
rm -rf "$root" && mkdir -p build
debootstrap --download-only --arch=arm64 --variant=minbase --include="$libraries" bookworm "$root/packages" >"$root.log" 2>&1 ||
  { tail -n 5 "$root.log"; exit 1; }
for package in "$root"/packages/var/cache/apt/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --no-same-owner --keep-directory-symlink
done
rm -rf "$root/packages"
# Links from the root on lead into this machine's; a BLAS is chosen where packages are installed.
find "$root" -type l -lname '/*' | while read -r link; do
  ln -sf --relative "$root$(readlink "$link")" "$link"
done
ln -sf openblas-pthread/libopenblas.so openblas-pthread/libopenblas.so.0 "$root/usr/lib/aarch64-linux-gnu/"
ln -sf openblas-pthread/cblas.h openblas-pthread/openblas_config.h "$root/usr/include/aarch64-linux-gnu/"
touch "$root/complete"
