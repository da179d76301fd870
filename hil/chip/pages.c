/* What Unicorn asks when it comes to a page. It lets code write to a page
 * without a call for each write only if nothing can be executed there, and by
 * itself it takes all memory for executable. So writable memory is not, here:
 * code that goes there all the same is stopped, and hil/chip/cpu.py goes on
 * with Unicorn's own answers. */
#include "pages.h"

enum { READ = 1, WRITE = 2, EXECUTE = 4 };
enum { FETCHED = 18 }; /* UC_MEM_FETCH of unicorn.h: no load, no store */

#define PERIPHERALS 0x40000000u /* from here on nothing is executed */
#define EXTERNAL 0x60000000u    /* but here, in external memory, */
#define DEVICES 0xA0000000u     /* up to here: ARMv7-M B3.1 */

/* Tell Unicorn what may be done with a page: anything that the architecture
 * lets be done at its address, but to execute what can be written. */
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
