/* SPDX-License-Identifier: Apache-2.0 */
/* Doubly linked lists, first in first out, whose links are part of the linked structures. */
#ifndef HWSWAP_LIST_H
#define HWSWAP_LIST_H

#include <stdbool.h>
#include <stddef.h>

/** struct list - a list's head, or a link in it */
struct list {
  struct list *next, *previous;
};

/* The structure of which a link is a part. */
#define list_entry(link, structure, member) ((structure *)((char *)(link) - offsetof(structure, member)))

static inline void list_init(struct list *list) { list->next = list->previous = list; }

static inline bool list_empty(const struct list *list) { return list->next == list; }

/* Puts a link before another one; before the head is at the tail. */
static inline void list_add_before(struct list *place, struct list *link) {
  link->next = place;
  link->previous = place->previous;
  place->previous->next = link;
  place->previous = link;
}

static inline void list_remove(struct list *link) {
  link->previous->next = link->next;
  link->next->previous = link->previous;
}

#endif
