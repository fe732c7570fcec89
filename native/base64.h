#ifndef EXEC_BASE64_H
#define EXEC_BASE64_H

#include <stddef.h>
#include <stdint.h>

/* Writes the padded base64 text of the bytes, (length + 2) / 3 * 4 characters, and nothing behind it. */
void base64_encode(uint8_t *text, const uint8_t *bytes, size_t length);

#endif
