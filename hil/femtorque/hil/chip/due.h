/* An event at a cycle. At the same cycle the lower order comes first. */
#ifndef DUE_H
#define DUE_H

#include <stdint.h>

typedef struct {
    int64_t at;
    uint64_t order;
    int32_t armed;
} due;

#endif
