#!/bin/sh
# Builds from a clean checkout in a fresh root of Debian 12, by the README's commands only: tests/install/fresh_root.sh
# [emulator|gpu] [FOLDER]. Nightly: it downloads Debian, and compiles everything that one chapter needs. As root, with
# debootstrap. FOLDER (a new one in /var/tmp) is removed at the end.
#
# Exit status: 0 all went well; 1 something did not; 77 it cannot be tried here.
set -u
device=${1:-emulator}
tree=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  echo "not tried: root and debootstrap are needed"
  exit 77
fi
root=${2:-$(mktemp -d /var/tmp/warpbook-root.XXXXXX)}
cleanup() {
  for place in proc dev; do umount "$root/$place" 2>/dev/null; done
  rm -rf --one-file-system "$root"
}
trap cleanup EXIT INT TERM

step() {
  what=$1
  shift
  if "$@" >"$root.log" 2>&1; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    tail -n 20 "$root.log"
    exit 1
  fi
}
inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL="${locale:-C}" sh -c "$1"; }

step "Debian 12" debootstrap --variant=minbase bookworm "$root"
for file in /etc/apt/sources.list /etc/apt/apt.conf.d/proxy.conf /etc/resolv.conf; do
  [ -f "$file" ] && cp "$file" "$root$file"
done
[ -d /etc/apt/sources.list.d ] && cp -r /etc/apt/sources.list.d/. "$root/etc/apt/sources.list.d/"
[ -d /etc/apt/keyrings ] && mkdir -p "$root/etc/apt/keyrings" && cp -r /etc/apt/keyrings/. "$root/etc/apt/keyrings/"
mount -t proc proc "$root/proc" 2>/dev/null || true
mount --bind /dev "$root/dev" 2>/dev/null || true

# What a person has who read the first line of the README: make and git.
step "make and git" inside "apt-get update -qq && apt-get install -qq -y --no-install-recommends make git ca-certificates"
mkdir -p "$root/home/reader"
step "a clean checkout" git clone -q "$tree" "$root/home/reader/war pbook"
step "make deps chapter3" inside "cd '/home/reader/war pbook' && make deps chapter3 DEVICE=$device"
case $device in
  emulator) step "./chapter3/run_all --quick" inside "cd '/home/reader/war pbook' && ./chapter3/run_all --quick" ;;
  *) step "./chapter3/run_all --list" inside "cd '/home/reader/war pbook' && ./chapter3/run_all --list" ;;
esac
locale=de_DE.UTF-8
step "another locale, another folder" inside "cd / && '/home/reader/war pbook/chapter3/run_all' --list"
step "nothing written but what git ignores" inside "cd '/home/reader/war pbook' && test -z \"\$(git -c safe.directory='*' status --porcelain)\""
