/*
 * The filesystem engine: one request in, one answer out. It is linked into the addon, for direct calls, and into
 * fs-helper, which runs inside a sandbox; so both behave the same.
 *
 * A request is a head of FS_REQUEST_HEAD bytes and a body; numbers are little-endian:
 *    0 u32 length of the body   4 u32 id             8 u16 operation    10 u16 flags
 *   12 u32 length of the path  16 u64 numbers[3]    40 u32 length of the second path   44 u32 zero
 * The body is the path, the second path (each ended by a NUL that its length counts) and the payload.
 *
 * An answer is a head of FS_ROOM_BEFORE bytes and the payload; the head is free for other use once it is read:
 *    0 u32 length of the payload   4 u32 id   8 u32 status   12 u32 errno or number of errors in a walk
 * The payload of a success is the JSON text of the result, that of a refusal or failure is its message.
 */
#ifndef EXEC_FS_ENGINE_H
#define EXEC_FS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define FS_REQUEST_HEAD 48
#define FS_ROOM_BEFORE 192
#define FS_ROOM_AFTER 8

/*
 * Every operation: its number, the name by which programs ask for it, its function, and how many paths it takes. The numbers
 * are of no account: both ends learn them from this list.
 */
#define FS_OPERATIONS(OPERATION) \
    OPERATION(FS_READ_FILE, "readFile", fs_read_file, 1) \
    OPERATION(FS_WRITE_FILE, "writeFile", fs_write_file, 1) \
    OPERATION(FS_CREATE_DIRECTORY, "createDirectory", fs_create_directory, 1) \
    OPERATION(FS_GET_METADATA, "getMetadata", fs_get_metadata, 1) \
    OPERATION(FS_CANONICALIZE, "canonicalize", fs_canonicalize, 1) \
    OPERATION(FS_READ_DIRECTORY, "readDirectory", fs_read_directory, 1) \
    OPERATION(FS_WALK, "walk", fs_walk, 1) \
    OPERATION(FS_REMOVE, "remove", fs_remove, 1) \
    OPERATION(FS_COPY, "copy", fs_copy, 2) \
    OPERATION(FS_OPEN, "open", fs_open_file, 1) \
    OPERATION(FS_READ_BLOCK, "readBlock", fs_read_block, 0) \
    OPERATION(FS_WRITE_BLOCK, "writeBlock", fs_write_block, 0) \
    OPERATION(FS_CLOSE, "close", fs_close, 0) \
    OPERATION(FS_INSPECT, "inspect", fs_inspect, 0) \
    /* The addon's alone. */ \
    OPERATION(FS_EXCHANGE, "exchange", fs_elsewhere, 0) \
    /* The helper's alone, without an answer: the payload is paths (protect.h). */ \
    OPERATION(FS_PROTECT, "protect", fs_elsewhere, 0) \
    /* The payload is paths that guarded requests may not reach, in place of those before. */ \
    OPERATION(FS_HIDE, "hide", fs_hide, 0) \
    /* The helper's alone, without an answer: the payload is paths and pins in turn (mounted.h). */ \
    OPERATION(FS_MOUNTED, "mounted", fs_elsewhere, 0) \
    OPERATION(FS_RENAME, "rename", fs_rename, 2) \
    OPERATION(FS_SET_PERMISSIONS, "setPermissions", fs_set_permissions, 1) \
    OPERATION(FS_APPEND_BLOCK, "appendBlock", fs_append_block, 0) \
    /* search begins a search and does a little of it, searchOn a little more, searchEnd forgets it (search/search.c). */ \
    OPERATION(FS_SEARCH, "search", fs_search, 1) \
    OPERATION(FS_SEARCH_ON, "searchOn", fs_search_on, 0) \
    OPERATION(FS_SEARCH_END, "searchEnd", fs_search_end, 0)

enum fs_operation {
#define NUMBER(number, name, function, paths) number,
    FS_OPERATIONS(NUMBER)
#undef NUMBER
};

enum fs_flag {
    FS_NO_FOLLOW = 1,        /* no component of the path may be a symbolic link */
    FS_RECURSIVE = 2,
    FS_FORCE = 4,            /* what is not there counts as removed */
    FS_GUARDED = 8,          /* nothing in procfs, nothing hidden */
    FS_AT_ONCE = 16,         /* answer FS_LATER rather than wait for a device */
    FS_REPLACE = 32,         /* open: create or truncate; rename: replace the target */
    FS_FOLLOW_DIRECTORIES = 64,
    FS_PRUNE_HIDDEN = 128,
    FS_IDENTITY = 256,       /* get metadata: tell device and inode */
    FS_LINKS = 512,          /* get metadata: of a link itself; read directory: tell links, and those to nothing */
    FS_APPEND = 1024,        /* open: create, and write at the end */
};

enum fs_status {
    FS_OK,
    FS_ERRNO,
    FS_INVALID, /* the caller's mistake, in words */
    FS_FAILED,  /* what cannot be done, in words */
    FS_LATER,   /* would have to wait: ask again without FS_AT_ONCE */
};

struct fs_request {
    uint16_t operation;
    uint16_t flags;
    uint32_t id;
    const char *path;
    const char *target;
    uint64_t numbers[3];
    const uint8_t *payload;
    size_t payload_length;
};

/* Grows by itself; when memory runs out it turns into the answer ENOMEM. */
struct fs_answer {
    uint8_t *bytes; /* head, payload, room behind it */
    size_t length;  /* of head and payload */
    size_t capacity;
    bool exhausted;
};

/* engine.c */
/* The name of the operation with a number; NULL if there are fewer. */
const char *fs_operation_name(unsigned number);
uint32_t fs_body_length(const uint8_t head[FS_REQUEST_HEAD]);
uint32_t fs_payload_length(const uint8_t head[FS_ROOM_BEFORE]); /* of an answer */
/* Takes apart head and body, whose payload may lie elsewhere; false when they contradict each other. */
bool fs_parse(struct fs_request *request, const uint8_t *head_and_paths, size_t length, const uint8_t *payload,
              size_t payload_length);
/* Fills an empty answer; the caller frees its bytes. Returns false when there is no memory for an answer at all. */
bool fs_execute(const struct fs_request *request, struct fs_answer *answer);

/* answer.c */
/* An answer without a payload; false when there is no memory for it. */
bool fs_begin(struct fs_answer *answer);
void fs_end(const struct fs_request *request, struct fs_answer *answer);
bool fs_reserve(struct fs_answer *answer, size_t more);
void fs_put(struct fs_answer *answer, const void *bytes, size_t length);
void fs_puts(struct fs_answer *answer, const char *text);
void fs_putf(struct fs_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fs_put_base64(struct fs_answer *answer, const uint8_t *bytes, size_t length);
/* Replaces whatever the answer holds. */
void fs_fail_errno(struct fs_answer *answer, int number);
void fs_fail_text(struct fs_answer *answer, enum fs_status status, const char *text);
void fs_set_status(struct fs_answer *answer, enum fs_status status, uint32_t number);

/* text.c */
bool fs_is_utf8(const char *text);
void fs_put_json(struct fs_answer *answer, const char *name);
void fs_put_lossy(struct fs_answer *answer, const char *name);
/* The path as a file URI: as src/protocol/path-uri.ts spells it. Bytes that are no UTF-8 are kept, or replaced when lossy. */
void fs_put_uri(struct fs_answer *answer, const char *path);
/* The part of a URI for more of a path, which must not start at the root. */
void fs_put_uri_rest(struct fs_answer *answer, const char *path, bool lossy);

/* open.c: descriptors or a negative errno; -EAGAIN means FS_LATER. */
int fs_open_path(const struct fs_request *request, const char *path, int flags, mode_t mode);
/* The directory that holds the last component, reached without following any link; sets the name in it. */
int fs_open_parent(const struct fs_request *request, const char *path, const char **name);
/* A path below a directory, with no link in it; for opening what has no effect when it is opened. */
int fs_open_below(const struct fs_request *request, int directory, const char *path, int flags);
/* Whether a little can be written in the directory of a path without waiting: a local disk takes it into memory. */
bool fs_writes_promptly(const char *path);
/* open.c: refuses what is in procfs, and what is hidden, for a guarded request. */
int fs_check_guard(const struct fs_request *request, int fd);

/* write.c: 0 or a negative errno. */
int fs_make_directory(const char *path, bool recursive, bool follow);

#define DECLARATION(number, name, function, paths) \
    void function(const struct fs_request *request, struct fs_answer *answer);
FS_OPERATIONS(DECLARATION)
#undef DECLARATION

#endif
