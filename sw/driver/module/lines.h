/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HWSWAP_LINES_H
#define HWSWAP_LINES_H

#include "hwswap.h"

/** struct hwswap_cpu_line - what a CPU tells the engine */
struct hwswap_cpu_line {
	__le64 notice;
	__le64 want;
	__le32 hint_head[HWSWAP_ORDERS];
	__le64 reserved;
};

static_assert(sizeof(struct hwswap_cpu_line) == HWSWAP_CPU_LINE_SIZE);

/** struct hwswap_engine_line - what the engine tells a CPU */
struct hwswap_engine_line {
	__le32 notice_head;
	__le32 resync_ack;
	__le64 heartbeat;
	__le64 reserved[6];
};

static_assert(sizeof(struct hwswap_engine_line) == HWSWAP_ENGINE_LINE_SIZE);

static inline struct hwswap_cpu_line *hwswap_cpu_line(const struct hwswap *hw, unsigned int cpu)
{
	return (struct hwswap_cpu_line *)hw->lines.cpu + cpu;
}

static inline struct hwswap_engine_line *hwswap_engine_line(const struct hwswap *hw,
							    unsigned int cpu)
{
	return (struct hwswap_engine_line *)hw->elines.cpu + cpu;
}

#endif /* HWSWAP_LINES_H */
