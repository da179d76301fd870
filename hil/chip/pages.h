/* What may be done with the pages of memory. */
#ifndef PAGES_H
#define PAGES_H

#include "core.h"

#include <stdbool.h>

/* Unicorn's: where a page lies, and what may be done with it. */
typedef struct {
    uint64_t address;
    int rights;
} page;

bool page_rights(void *engine, uint64_t address, int access, page *found,
                void *user);

#endif
