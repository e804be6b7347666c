# SPDX-License-Identifier: Apache-2.0

scattered_file || exit 1
check "swapon of a file in many pieces" swapctl on /tmp/disk0/swap
check "every byte is right" swapfrag --size 28m --free 25 --no-hold
right "every byte is right for two processes, at random" \
	swapload --processes 2 --size 14m --limit 8m --access random
check "swapoff" swapctl off /tmp/disk0/swap
check "the other files are as they were" files_same
check "they are after the file system was mounted anew" files_same_anew
