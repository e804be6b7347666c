# SPDX-License-Identifier: Apache-2.0
# title: Redis, saved in the background
# needs: redis
# As in redis.sh, saved twice by a child that shares the server's pages.
. /redis/load.sh
redis_load 6 || exit 1
