#!/bin/sh
# Prints the device that make uses when DEVICE is left out: gpu where a CUDA compiler and a device are there.
if [ -n "$("$(dirname "$0")/find_nvcc.sh")" ] && { [ -e /dev/nvidia0 ] || nvidia-smi -L 2>/dev/null | grep -q GPU; }; then
  echo gpu
else
  echo emulator
fi
