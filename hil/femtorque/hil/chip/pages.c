/* Unicorn's questions about the rights of a page. It lets code write to a page
 * without a call for each write only if the page cannot be executed, and by
 * itself it takes all memory for executable. So writable memory is not
 * executable here: code that jumps there is stopped, and hil/chip/cpu.py goes
 * on with Unicorn's own answers. */
#include "pages.h"

enum { READ = 1, WRITE = 2, EXECUTE = 4 };
enum { FETCHED = 18 }; /* UC_MEM_FETCH of unicorn.h: no load, no store */

#define PERIPHERALS 0x40000000u /* from here on not executable, */
#define EXTERNAL 0x60000000u    /* but for external memory, from here */
#define DEVICES 0xA0000000u     /* to here: ARMv7-M B3.1 */

/* Return the rights of a page: all that the architecture allows at its address,
 * but writable memory cannot be executed. */
bool page_rights(void *engine, uint64_t address, int access, page *found,
                void *user)
{
    const core *c = user;
    uint32_t at = (uint32_t)address;
    int executable = at < PERIPHERALS || (at >= EXTERNAL && at < DEVICES);
    if (access != FETCHED)
        leave_it_block(c->count, engine);
    found->address = address;
    found->rights = READ | WRITE;
    if (executable && core_memory(c, at, 1, 1) == 0)
        found->rights |= EXECUTE;
    return true;
}
