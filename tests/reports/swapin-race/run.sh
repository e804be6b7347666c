#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash source=tests/reports/lib.sh
. /reports/lib.sh

on /dev/ram0 -p 5 && on /dev/ram1 -p 5 || exit 1
race 12 >/tmp/sync
check "on RAM disks nothing old is seen" verified /tmp/sync
check "no slot is left behind" until_true 20 swap_is_empty
swapctl off /dev/ram0 /dev/ram1
nullb 0 16 && on /dev/nullb0 || exit 1
race 12 >/tmp/queued
check "behind a queue nothing old is seen" verified /tmp/queued
within "children looked, too" 2 100000 "$(sed -n 's/.*"forks":\([0-9]*\).*/\1/p' /tmp/queued)"
check "swapoff" swapctl off /dev/nullb0
