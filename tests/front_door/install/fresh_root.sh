#!/bin/sh
# Builds in a fresh root of Debian 12: a clean checkout, by the README's commands only; or, with `class`, a handout, by the
# commands that its files for GitHub run: tests/front_door/install/fresh_root.sh [emulator|gpu] [root|user] [class].
# Nightly: it downloads Debian, and compiles everything that one chapter needs. As root, with debootstrap; the commands are
# then run as root, or as a user who has no right to install anything, and gets it.
# The root is made in /var/tmp and removed at the end.
#
# Exit status: 0 all went well; 1 something did not; 77 it cannot be tried here.
set -u
device=${1:-emulator}
who=${2:-root}
what=${3:-checkout}
tree=$(cd "$(dirname "$0")/../../.." && pwd)
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  echo "not tried: root and debootstrap are needed"
  exit 77
fi
root=$(mktemp -d /var/tmp/warpbook-root.XXXXXX)
chmod 755 "$root"  # Others look into it, too.
cleanup() {
  for place in proc dev; do umount "$root/$place" 2>/dev/null; done
  rm -rf --one-file-system "$root" "$root.log" "$root.said" "$root.commands"
}
trap cleanup EXIT INT TERM

step() {
  name=$1
  shift
  if "$@" </dev/null >"$root.log" 2>&1; then
    echo "ok: $name"
  else
    echo "FAILED: $name"
    tail -n 20 "$root.log"
    exit 1
  fi
}
within() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
inside() { within LC_ALL="${locale:-C}" sh -c "$1"; }
# Files that the reader wrote outside the checkout: none. (As root, what is installed could not be told from them.)
elsewhere() {
  find "$root" -xdev -newer "$root/begin" -uid "$(inside 'id -u reader')" -type f -not -path "$root/home/reader/war pbook/*" >"$root.said"
  cat "$root.said" && [ ! -s "$root.said" ]
}
# In the checkout, as the one who reads.
reading() {
  case $who in
    root) inside "cd '/home/reader/war pbook' && $1" ;;
    *) within su reader -s /bin/sh -c "cd '/home/reader/war pbook' && LC_ALL='${locale:-C}' $1" ;;
  esac
}
refused() {
  reading "make deps DEVICE=$device" >"$root.said" 2>&1 && return 1
  cat "$root.said" && grep -q '^error: packages are missing, .* apt-get install .*cmake' "$root.said"
}
# A check of what is not solved yet.
unsolved() {
  status=0
  reading "$1" || status=$?
  [ "$status" = 1 ]
}

step "Debian 12" debootstrap --variant=minbase bookworm "$root"
for file in /etc/apt/sources.list /etc/apt/apt.conf.d/proxy.conf /etc/resolv.conf /etc/pip.conf; do
  [ -f "$file" ] && cp "$file" "$root$file"
done
[ -d /etc/apt/sources.list.d ] && cp -r /etc/apt/sources.list.d/. "$root/etc/apt/sources.list.d/"
[ -d /etc/apt/keyrings ] && mkdir -p "$root/etc/apt/keyrings" && cp -r /etc/apt/keyrings/. "$root/etc/apt/keyrings/"
[ -d /usr/local/share/ca-certificates ] && mkdir -p "$root/usr/local/share" && cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
mount -t proc proc "$root/proc" 2>/dev/null || true
mount --bind /dev "$root/dev" 2>/dev/null || true

# What a person has who read the first line of the README: make and git.
step "make and git" inside "apt-get update -qq && apt-get install -qq -y --no-install-recommends make git ca-certificates"
mkdir -p "$root/home/reader"
if [ "$what" = class ]; then
  step "a handout" "$tree/workbook" --chapters 1 handout "$root/home/reader/war pbook"
else
  step "a clean checkout" git clone -q "$tree" "$root/home/reader/war pbook"
fi
if [ "$who" = user ]; then
  step "a user" inside "useradd --create-home reader && chown -R reader /home/reader"
  step "who may not install anything: make deps says what is missing" refused
  grep '^error' "$root.said"
  step "sudo" inside "apt-get install -qq -y --no-install-recommends sudo && echo 'reader ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/reader"
fi
touch "$root/begin"
if [ "$what" = class ]; then
  "$tree/tests/front_door/install/classroom_commands.py" "$root/home/reader/war pbook" >"$root.commands" || exit 1
  while read -r command; do
    case $command in
      "./workbook check "*) step "$command, of what is not solved" unsolved "$command" ;;
      *) step "$command" reading "$command" ;;
    esac
  done <"$root.commands"
  cp "$tree"/chapters/chapter1_elementwise/v1_*.cuh "$root/home/reader/war pbook/exercises/chapter1/one_element.cuh"
  step "./workbook check one_element, of what is solved" reading "./workbook check one_element"
  exit 0
fi
step "make deps chapter3" reading "make deps chapter3 DEVICE=$device"
case $device in
  emulator) step "./chapter3/run_all --quick" reading "./chapter3/run_all --quick" ;;
  *) step "./chapter3/run_all --list" reading "./chapter3/run_all --list" ;;
esac
step "a second time, nothing is missing" reading "make deps DEVICE=$device | grep 'nothing is missing'"
locale=de_DE.UTF-8
step "another locale, another folder" inside "cd / && '/home/reader/war pbook/chapter3/run_all' --list"
step "nothing written but what git ignores" reading "test -z \"\$(git status --porcelain)\""
[ "$who" = root ] || step "nothing written anywhere else" elsewhere
