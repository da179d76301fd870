/* Exception entry and return, ARMv7-M B1.5.6 to B1.5.8. */
#ifndef EXCEPTIONS_H
#define EXCEPTIONS_H

#include "core.h"

uint32_t exceptions_register(const core *c, int name);
int32_t exceptions_level(core *c);
void exceptions_enter(core *c, int32_t number);
int exceptions_return(core *c, uint32_t code);

#endif
