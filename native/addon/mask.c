/* Masks and unmasks WebSocket payloads (RFC 6455, 5.3), eight bytes at a time. */
#include "addon.h"

#include <string.h>

static bool bytes_of(napi_env env, napi_value value, uint8_t **bytes, size_t *length)
{
    return napi_get_buffer_info(env, value, (void **)bytes, length) == napi_ok;
}

static void apply(uint8_t *target, const uint8_t *source, size_t length, const uint8_t key[4])
{
    uint8_t doubled[8];
    memcpy(doubled, key, 4);
    memcpy(doubled + 4, key, 4);
    uint64_t word, pattern;
    memcpy(&pattern, doubled, sizeof pattern);
    size_t at = 0;
    for (; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, source + at, sizeof word);
        word ^= pattern;
        memcpy(target + at, &word, sizeof word);
    }
    for (; at < length; at++)
        target[at] = source[at] ^ key[at % 4];
}

/* mask(source, key, target, offset, length): writes the masked bytes to the target */
napi_value mask_bytes(napi_env env, napi_callback_info info)
{
    size_t count = 5, source_length, key_length, target_length;
    napi_value arguments[5];
    uint8_t *source, *key, *target;
    uint32_t offset, length;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_uint32(env, arguments[3], &offset));
    TRY(env, napi_get_value_uint32(env, arguments[4], &length));
    if (!bytes_of(env, arguments[0], &source, &source_length) || !bytes_of(env, arguments[1], &key, &key_length) ||
        !bytes_of(env, arguments[2], &target, &target_length) || key_length < 4 || length > source_length ||
        (size_t)offset + length > target_length)
        return addon_throw(env, "mask: expected a source, a key of 4 bytes and a target with room at the offset");
    apply(target + offset, source, length, key);
    return NULL;
}

/* unmask(bytes, key): in place */
napi_value unmask_bytes(napi_env env, napi_callback_info info)
{
    size_t count = 2, length, key_length;
    napi_value arguments[2];
    uint8_t *bytes, *key;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    if (!bytes_of(env, arguments[0], &bytes, &length) || !bytes_of(env, arguments[1], &key, &key_length) || key_length < 4)
        return addon_throw(env, "unmask: expected bytes and a key of 4 bytes");
    apply(bytes, bytes, length, key);
    return NULL;
}
