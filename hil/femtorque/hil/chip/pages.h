/* Rights of memory pages. */
#ifndef PAGES_H
#define PAGES_H

#include "core.h"

#include <stdbool.h>

/* Unicorn's struct for a page: address and access rights. */
typedef struct {
    uint64_t address;
    int rights;
} page;

bool page_rights(void *engine, uint64_t address, int access, page *found,
                void *user);

#endif
