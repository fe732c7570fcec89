/* Bytes and strings for programs without a C library. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keeps the compiler from seeing in a loop the very function it is in. */
#define AS_WRITTEN __asm__ volatile("")

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    return memmove(to, from, length);
}

void *memmove(void *to, const void *from, size_t length)
{
    char *target = to;
    const char *source = from;
    if (target <= source)
        for (size_t i = 0; i < length; i++) {
            target[i] = source[i];
            AS_WRITTEN;
        }
    else
        for (size_t i = length; i > 0; i--) {
            target[i - 1] = source[i - 1];
            AS_WRITTEN;
        }
    return to;
}

void *memset(void *to, int value, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        ((char *)to)[i] = (char)value;
        AS_WRITTEN;
    }
    return to;
}

int memcmp(const void *one, const void *other, size_t length)
{
    const unsigned char *a = one, *b = other;
    for (; length > 0 && *a == *b; length--, a++, b++)
        AS_WRITTEN;
    return length > 0 ? *a - *b : 0;
}

size_t strlen(const char *text)
{
    const char *end = text;
    for (; *end != '\0'; end++)
        AS_WRITTEN;
    return (size_t)(end - text);
}

int strcmp(const char *one, const char *other)
{
    return strncmp(one, other, (size_t)-1);
}

int strncmp(const char *one, const char *other, size_t length)
{
    for (; length > 0 && *one == *other && *one != '\0'; length--, one++, other++)
        AS_WRITTEN;
    return length > 0 ? (unsigned char)*one - (unsigned char)*other : 0;
}

char *strchr(const char *text, int wanted)
{
    for (; *text != (char)wanted; text++)
        if (*text == '\0')
            return NULL;
    return (char *)text;
}

char *getenv(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = environ; *entry != NULL; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

/* What an exec can fail with, a directory and a socket. */
static const struct {
    int number;
    const char *text;
} errors[] = {
    {EPERM, "Operation not permitted"},
    {ENOENT, "No such file or directory"},
    {EIO, "Input/output error"},
    {E2BIG, "Argument list too long"},
    {ENOEXEC, "Exec format error"},
    {EBADF, "Bad file descriptor"},
    {EAGAIN, "Resource temporarily unavailable"},
    {ENOMEM, "Cannot allocate memory"},
    {EACCES, "Permission denied"},
    {EFAULT, "Bad address"},
    {ENOTDIR, "Not a directory"},
    {EISDIR, "Is a directory"},
    {EINVAL, "Invalid argument"},
    {ENFILE, "Too many open files in system"},
    {EMFILE, "Too many open files"},
    {ETXTBSY, "Text file busy"},
    {EPIPE, "Broken pipe"},
    {ENAMETOOLONG, "File name too long"},
    {ENOSYS, "Function not implemented"},
    {ELOOP, "Too many levels of symbolic links"},
    {ELIBBAD, "Accessing a corrupted shared library"},
    {ENOTSOCK, "Socket operation on non-socket"},
    {EMSGSIZE, "Message too long"},
    {ENOBUFS, "No buffer space available"},
    {EADDRINUSE, "Address already in use"},
    {EADDRNOTAVAIL, "Cannot assign requested address"},
    {ECONNRESET, "Connection reset by peer"},
    {ENOTCONN, "Transport endpoint is not connected"},
    {ECONNREFUSED, "Connection refused"},
    {ETOOMANYREFS, "Too many references: cannot splice"},
    {ESTALE, "Stale file handle"},
};

char *strerror(int number)
{
    static char unknown[] = "Error 000";
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == number)
            return (char *)errors[i].text;
    for (int i = 0; i < 3; i++, number /= 10)
        unknown[sizeof unknown - 2 - (size_t)i] = (char)('0' + number % 10);
    return unknown;
}
