# SPDX-License-Identifier: Apache-2.0
# title: Redis
# needs: redis
# A data set larger than its memory, filled, read and written at random, and read as a whole; nothing is saved.
. /redis/load.sh
redis_load 5 nosave || exit 1
