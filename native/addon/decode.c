/* Payloads of large requests, decoded from the bytes of the message without becoming a string first. */
#include "addon.h"

#include "../shared/base64.h"

/* decodeBase64(bytes, start, end): a buffer, or undefined if that part is not strict base64. */
napi_value decode_base64(napi_env env, napi_callback_info info)
{
    size_t count = 3, length;
    napi_value arguments[3], result;
    uint8_t *text;
    uint32_t start, end;
    void *bytes;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_uint32(env, arguments[1], &start));
    TRY(env, napi_get_value_uint32(env, arguments[2], &end));
    if (napi_get_buffer_info(env, arguments[0], (void **)&text, &length) != napi_ok || start > end || end > length)
        return addon_throw(env, "decodeBase64: expected a buffer and two positions in it");
    TRY(env, napi_create_buffer(env, base64_decoded_length(text + start, end - start), &bytes, &result));
    if (base64_decode(bytes, text + start, end - start))
        return result;
    TRY(env, napi_get_undefined(env, &result));
    return result;
}
