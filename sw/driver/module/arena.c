// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that host and engine share: one piece, so that two DMA windows are
 * enough for it. It is kept from the first attach until the engine's device goes: an
 * engine that was given up might still write to it.
 */
#include <linux/dma-mapping.h>
#include <linux/math.h>
#include <linux/mm.h>

#include "arena.h"

/*
 * Divide the arena, wherever it is: first what the engine writes, then what it reads, so
 * that one DMA window does for each. Returns its size.
 */
static size_t hwswap_divide(struct hwswap *hw)
{
	const struct {
		struct hwswap_dma *mem;
		size_t size;
		bool written;
	} pieces[] = {
		{ &hw->grants, hw->cpus * HWSWAP_ORDERS * HWSWAP_GRANT_SIZE << hw->grant_log2,
		  true },
		{ &hw->no_run, HWSWAP_NO_RUN_SIZE, true },
		/* The engine reads the words of all its clusters, whatever there is memory for. */
		{ &hw->words, hw->clusters * sizeof(u32) },
		{ &hw->used, (size_t)hw->usable * HWSWAP_SLOTS / 8 },
		{ &hw->grant_lines, hw->cpus * HWSWAP_GRANT_LINE_SIZE },
	};
	size_t at = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		pieces[i].mem->cpu = hw->arena.cpu + at;
		pieces[i].mem->bus = hw->arena.bus + at;
		/* A window ends with a page. */
		pieces[i].mem->size = PAGE_ALIGN(pieces[i].size);
		at += pieces[i].mem->size;
		if (pieces[i].written)
			hw->arena_written = at;
	}
	return at;
}

/**
 * hwswap_arena_alloc - allocate all that host and engine share
 * @hw: the engine, identified
 *
 * With that, @hw->usable is known.
 *
 * Return: 0 or -ENOMEM.
 */
int hwswap_arena_alloc(struct hwswap *hw)
{
	struct hwswap_dma *arena = &hw->arena;

	/* One contiguous piece: where memory is scattered, rather for fewer clusters. */
	for (hw->usable = hw->clusters; hw->usable; hw->usable /= 2) {
		arena->size = hwswap_divide(hw);
		arena->cpu = dma_alloc_coherent(hw->dev, arena->size, &arena->bus,
						GFP_KERNEL | __GFP_NOWARN);
		if (arena->cpu)
			break;
	}
	if (!arena->cpu)
		return -ENOMEM;
	hwswap_divide(hw);
	if (hw->usable < hw->clusters)
		dev_warn(hw->dev, "memory for %u of the engine's %u clusters only\n",
			 hw->usable, hw->clusters);
	return 0;
}

/**
 * hwswap_arena_free - give it back
 * @hw: the engine, quiet
 */
void hwswap_arena_free(struct hwswap *hw)
{
	if (hw->arena.cpu)
		dma_free_coherent(hw->dev, hw->arena.size, hw->arena.cpu, hw->arena.bus);
	hw->arena.cpu = NULL;
}
