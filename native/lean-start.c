/*
 * The start of a program without a C library. What one does before main takes longer than all the wrapper has to do: glibc
 * asks the processor many questions, and on a virtual machine each is answered by the hypervisor.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

char **environ;

int main(int argc, char **argv);

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall lean_start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x0, sp\n\tbl lean_start\n");
#else
#error "no start for this machine"
#endif

/* The stack as the kernel leaves it: the count of arguments, the arguments, NULL, the environment. */
__attribute__((used, noreturn)) void lean_start(long *stack)
{
    char **argv = (char **)(stack + 1);
    environ = argv + stack[0] + 1;
    int code = main((int)stack[0], argv);
    for (;;)
        syscall(SYS_exit_group, code);
}
