/* The code that all test images have in common: registers by address, handlers,
 * and results that the test reads by symbol. The start-up code does not
 * initialise memory, so images have no .data. */
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define WAIT() __asm__ volatile("wfi" ::: "memory")
#define SYST_CSR REG(0xE000E010)
#define SYST_RVR REG(0xE000E014)
#define SYST_CVR REG(0xE000E018)
#define ICSR REG(0xE000ED04)
#define AIRCR REG(0xE000ED0C)
#define SHPR2 REG(0xE000ED1C)
#define SHPR3 REG(0xE000ED20)
#define SHCSR REG(0xE000ED24)
#define CFSR REG(0xE000ED28)
#define HFSR REG(0xE000ED2C)
#define CPACR REG(0xE000ED88)
#define DEMCR REG(0xE000EDFC)
#define DWT_CTRL REG(0xE0001000)
#define DWT_CYCCNT REG(0xE0001004)
#define NVIC_ISER0 REG(0xE000E100)
#define NVIC_ISPR0 REG(0xE000E200)
#define NVIC_IPR0 REG(0xE000E400)

extern volatile uint32_t result[32];

void start(void);
void nmi(void);
void hard_fault(void);
void usage_fault(void);
void bus_fault(void);
void sv_call(void);
void pend_sv(void);
void sys_tick(void);
void irq0(void);
void irq1(void);
