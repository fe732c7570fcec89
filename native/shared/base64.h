#ifndef EXEC_BASE64_H
#define EXEC_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the padded base64 text of the bytes, (length + 2) / 3 * 4 characters, and nothing after it. */
void base64_encode(uint8_t *text, const uint8_t *bytes, size_t length);

/* How many bytes a padded text of this length holds; the text need not be valid. */
size_t base64_decoded_length(const uint8_t *text, size_t length);

/* Writes the bytes of a text and nothing after them; false if it is not strict base64. */
bool base64_decode(uint8_t *bytes, const uint8_t *text, size_t length);

#endif
