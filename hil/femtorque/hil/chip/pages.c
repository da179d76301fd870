/* Answers Unicorn's queries for the access rights of a page. Stores to a page
 * are fast only if the page is not executable, and by default Unicorn makes all
 * memory executable. Therefore this module makes writable memory not
 * executable. Execution stops at a jump to this code, and hil/chip/cpu.py
 * continues with Unicorn's default. */
#include "pages.h"

enum { READ = 1, WRITE = 2, EXECUTE = 4 };
enum { FETCHED = 18 }; /* UC_MEM_FETCH of unicorn.h: neither load nor store */

#define PERIPHERALS 0x40000000u /* not executable, */
#define EXTERNAL 0x60000000u    /* except external memory, which begins here */
#define DEVICES 0xA0000000u     /* to here: ARMv7-M B3.1 */

/* Find the access rights of a page. A page has the rights that the architecture
 * allows, except that writable memory is not executable. */
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
