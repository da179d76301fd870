/* Code that faults, for the smoke test to send the processor to. */

void ft_provoke_fault(void);

/* An instruction that no processor has. */
void ft_provoke_fault(void)
{
    __asm__ volatile("udf #0");
}
