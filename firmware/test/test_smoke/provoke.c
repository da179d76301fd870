/* Code that causes a processor fault, for the smoke test. */

void ft_provoke_fault(void);

/* An instruction that no processor has. */
void ft_provoke_fault(void)
{
    __asm__ volatile("udf #0");
}
