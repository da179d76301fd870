/* An event at a cycle; of equal cycles the lower order is first. */
#ifndef DUE_H
#define DUE_H

#include <stdint.h>

typedef struct {
    int64_t at;
    uint64_t order;
    int32_t armed;
} due;

#endif
