/*
 * usage: fuzz-TARGET ROUNDS SEED [FIRST]
 *
 * Feeds a parser with mutations of its seeds. A round depends on SEED and its number alone, so the one that failed can be
 * repeated: ROUNDS 1 and FIRST its number. Built with sanitizers, which end the program.
 *
 * Exit codes: 0 nothing found, 2 usage, others found something.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONGEST 4096
#define OUT_OF_REACH 8192 /* a broker closes descriptors that it believes to have inherited, 4,096 at most */

void __sanitizer_set_death_callback(void (*callback)(void));

static unsigned long long state, seed, round_number;

static void print_round(void)
{
    fprintf(stderr, "fuzz: round %llu of seed %llu\n", round_number, seed);
}

_Noreturn void fuzz_fail(const char *what)
{
    fprintf(stderr, "fuzz: %s\n", what);
    print_round();
    exit(1);
}

/* splitmix64 */
static unsigned long long next_random(void)
{
    unsigned long long mixed = state += 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
    return mixed ^ mixed >> 31;
}

static size_t random_below(size_t bound)
{
    return (size_t)(next_random() % bound);
}

struct input {
    uint8_t bytes[LONGEST + 1];
    size_t length;
};

static void insert(struct input *input, size_t at, const void *bytes, size_t length)
{
    if (length > LONGEST - input->length)
        length = LONGEST - input->length;
    memmove(input->bytes + at + length, input->bytes + at, input->length - at);
    memcpy(input->bytes + at, bytes, length);
    input->length += length;
}

static void erase(struct input *input, size_t at, size_t length)
{
    memmove(input->bytes + at, input->bytes + at + length, input->length - at - length);
    input->length -= length;
}

static void mutate(struct input *input)
{
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, '"', '\\', '{', '[', ':', ',', '-', '0', '9', '=', '\n', ' '};
    static const char *const words[] = {"\\ud800", "\\u0000", "18446744073709551616", "-1", "4294967295", "1e999", "[[[[[[[["};
    uint8_t piece[64];
    size_t at = random_below(input->length + 1), left = input->length - at, length = 1 + random_below(16);
    switch (random_below(8)) {
    case 0:
        if (left > 0)
            input->bytes[at] ^= (uint8_t)(1u << random_below(8));
        break;
    case 1:
        if (left > 0)
            input->bytes[at] = edges[random_below(sizeof edges)];
        break;
    case 2:
        piece[0] = edges[random_below(sizeof edges)];
        insert(input, at, piece, 1);
        break;
    case 3:
        erase(input, at, length < left ? length : left);
        break;
    case 4: /* the same again */
        memcpy(piece, input->bytes + at, length < left ? length : left);
        insert(input, at, piece, length < left ? length : left);
        break;
    case 5: {
        const char *word = words[random_below(sizeof words / sizeof *words)];
        insert(input, at, word, strlen(word));
        break;
    }
    case 6: { /* the end of another seed */
        const struct seed *other = &seeds[random_below(seed_count)];
        size_t from = random_below(other->length + 1);
        erase(input, at, left);
        insert(input, at, other->text + from, other->length - from);
        break;
    }
    default:
        erase(input, at, left);
    }
}

static void run_round(void)
{
    state = seed ^ round_number * 0xd1342543de82ef95ULL;
    const struct seed *start = &seeds[random_below(seed_count)];
    struct input input = {.length = 0};
    insert(&input, 0, start->text, start->length);
    for (size_t changes = random_below(8); changes > 0; changes--)
        mutate(&input);
    uint8_t *exact = malloc(input.length + 1); /* so that reading one byte too many is seen */
    if (exact == NULL)
        fuzz_fail("out of memory");
    memcpy(exact, input.bytes, input.length);
    exact[input.length] = '\0';
    fuzz_one(exact, input.length);
    free(exact);
}

int fuzz_stream(const uint8_t *bytes, size_t length)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        fuzz_fail("no socket");
    int reading = fcntl(ends[0], F_DUPFD_CLOEXEC, OUT_OF_REACH);
    if (reading < 0 || write(ends[1], bytes, length) != (ssize_t)length)
        fuzz_fail("no room in a socket");
    close(ends[0]);
    close(ends[1]);
    return reading;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: %s ROUNDS SEED [FIRST]\n", argv[0]);
        return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    while (open("/dev/null", O_RDWR | O_CLOEXEC) < 3)
        ; /* a broker writes to descriptor 3 */
    __sanitizer_set_death_callback(print_round);
    unsigned long long first = argc == 4 ? strtoull(argv[3], NULL, 10) : 0, rounds = strtoull(argv[1], NULL, 10);
    seed = strtoull(argv[2], NULL, 10);
    for (round_number = first; round_number < first + rounds; round_number++)
        run_round();
    return 0;
}
