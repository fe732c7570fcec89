/* Those system calls that programs without a C library use, by their usual names. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int *__errno_location(void)
{
    static int number;
    return &number;
}

static long call(long number, const long *a)
{
#if defined(__x86_64__)
    long result;
    register long fourth __asm__("r10") = a[3], fifth __asm__("r8") = a[4], sixth __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long which __asm__("x8") = number, result __asm__("x0") = a[0], second __asm__("x1") = a[1],
                  third __asm__("x2") = a[2], fourth __asm__("x3") = a[3], fifth __asm__("x4") = a[4],
                  sixth __asm__("x5") = a[5];
    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
    return result;
#endif
}

long syscall(long number, ...)
{
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long); /* those that were not given are not looked at */
    va_end(list);
    long result = call(number, arguments);
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

int open(const char *path, int flags, ...)
{
    return (int)syscall(SYS_openat, (long)AT_FDCWD, path, (long)flags, 0L);
}

int close(int fd)
{
    return (int)syscall(SYS_close, (long)fd);
}

int fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, int); /* numbers are all that is needed */
    va_end(list);
    return (int)syscall(SYS_fcntl, (long)fd, (long)command, argument);
}

ssize_t read(int fd, void *bytes, size_t length)
{
    return syscall(SYS_read, (long)fd, bytes, length);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    return syscall(SYS_write, (long)fd, bytes, length);
}

ssize_t readlink(const char *path, char *target, size_t size)
{
    return syscall(SYS_readlinkat, (long)AT_FDCWD, path, target, size);
}

int chdir(const char *path)
{
    return (int)syscall(SYS_chdir, path);
}

int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, (long)first, (long)last, (long)flags);
}

/* Numbers and one pointer are all that is needed. */
int prctl(int option, ...)
{
    unsigned long arguments[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, unsigned long); /* those that were not given are not looked at */
    va_end(list);
    return (int)syscall(SYS_prctl, (long)option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

int execve(const char *file, char *const *argv, char *const *environment)
{
    return (int)syscall(SYS_execve, file, argv, environment);
}

mode_t umask(mode_t mask)
{
    return (mode_t)syscall(SYS_umask, (long)mask);
}

pid_t getpid(void)
{
    return (pid_t)syscall(SYS_getpid);
}

int raise(int number)
{
    return (int)syscall(SYS_kill, (long)getpid(), (long)number);
}

/* Without a limit of time. */
int poll(struct pollfd *descriptors, nfds_t count, int timeout)
{
    (void)timeout;
    return (int)syscall(SYS_ppoll, descriptors, (long)count, NULL, NULL, 0L);
}

int socket(int domain, int type, int protocol)
{
    return (int)syscall(SYS_socket, (long)domain, (long)type, (long)protocol);
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    return (int)syscall(SYS_bind, (long)fd, address, (long)length);
}

int listen(int fd, int waiting)
{
    return (int)syscall(SYS_listen, (long)fd, (long)waiting);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    return (int)syscall(SYS_socketpair, (long)domain, (long)type, (long)protocol, ends);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    return syscall(SYS_sendmsg, (long)fd, message, (long)flags);
}
