/*
 * What a regular expression or a glob says, as a tree. Characters are code points of Unicode, which match their UTF-8 alone, or bytes.
 */
#ifndef EXEC_SEARCH_SYNTAX_H
#define EXEC_SEARCH_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pattern, in bytes; keeps the recursion of parser and compiler shallow. */
#define PATTERN_LIMIT 4096
/* What a counted repetition may ask for: POSIX wants 255 at least. */
#define REPEAT_LIMIT 1000
#define UNBOUNDED UINT32_MAX
#define NO_NODE UINT32_MAX
#define LAST_CHARACTER 0x10ffff

enum node_kind { NODE_EMPTY, NODE_CHARACTERS, NODE_BYTES, NODE_BOTH, NODE_EITHER, NODE_REPEAT, NODE_ASSERTION };

enum assertion { LINE_START, LINE_END, WORD_EDGE, NO_WORD_EDGE, WORD_START, WORD_END };

struct node {
    enum node_kind kind;
    uint32_t left, right; /* both: one after the other; either: one of them; repeat: left */
    uint32_t first, count; /* characters and bytes: their ranges; repeat: least and most; assertion: which in `first` */
    bool counted;          /* whether a counted repetition is in it */
};

struct range {
    uint32_t low, high;
};

struct syntax {
    struct node *nodes;
    size_t count, capacity;
    struct range *ranges;
    size_t range_count, range_capacity;
    uint32_t root;
    bool exhausted; /* memory has run out: the tree must not be used */
};

void syntax_free(struct syntax *syntax);
/* NO_NODE when memory has run out, or a part is NO_NODE. */
uint32_t syntax_add(struct syntax *syntax, struct node node);
uint32_t syntax_both(struct syntax *syntax, uint32_t left, uint32_t right);
uint32_t syntax_either(struct syntax *syntax, uint32_t left, uint32_t right);
uint32_t syntax_repeat(struct syntax *syntax, uint32_t part, uint32_t least, uint32_t most);
uint32_t syntax_assertion(struct syntax *syntax, enum assertion which);

/* A set begins at syntax->range_count, gets its ranges, and is finished. */
void set_add(struct syntax *syntax, uint32_t low, uint32_t high);
/* Adds the characters of a class such as "alpha", of ASCII; false if there is none of this name. */
bool set_add_class(struct syntax *syntax, const char *name, size_t length);
/* Adds the other case of each letter since `start`. */
void set_fold(struct syntax *syntax, size_t start);
/* The complement, of characters up to `last`. */
void set_negate(struct syntax *syntax, size_t start, uint32_t last);
/* Takes one character out of the set. */
void set_remove(struct syntax *syntax, size_t start, uint32_t character);
uint32_t set_finish(struct syntax *syntax, size_t start, enum node_kind kind);

/* The character at the start of UTF-8 text, whose length is set; a byte that is not UTF-8 counts as itself. */
uint32_t utf8_decode(const uint8_t *text, size_t *length);

/* Either gives false and says why when the text is no pattern. */
struct complaint {
    char text[200];
};
/* A POSIX extended regular expression (regex-parse.c). */
bool regex_parse(struct syntax *syntax, const char *text, bool fold, struct complaint *complaint);
/* A text that stands for itself. */
bool literal_parse(struct syntax *syntax, const char *text, bool fold, struct complaint *complaint);
/* A glob over a whole path with `/` between its names, for people: of characters, with {a,b} (glob.c). */
bool glob_parse(struct syntax *syntax, const char *text, struct complaint *complaint);
/* As git reads the lines of .gitignore: of bytes. `whole_path`: `*` does not match a slash, and `**` may. */
bool ignore_glob_parse(struct syntax *syntax, const char *text, size_t plain, bool whole_path);

#endif
