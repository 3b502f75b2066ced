/* json_text.c - the strings and numbers of the JSON reader.
 *
 * A number of at most 19 digits whose value is m * 10^e with m <= 2^53 and
 * |e| <= 22 is exact after one multiplication or division (Clinger 1990); the
 * rare others go through strtod.
 */
#include "base/json_impl.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

static int append(struct json *j, const char *bytes, size_t n)
{
    size_t need = j->text_size + n + 1;
    if (need > JSON_STRING_MAX)
        return json_fail(j, "a string longer than %d bytes", JSON_STRING_MAX - 1);
    if (need > j->text_room) {
        size_t room = need < 128 ? 256 : 2 * need;
        int err = mem_extend(&j->text, room, 1, j->name);
        if (err)
            return err;
        j->text_room = room;
    }
    memcpy(j->text + j->text_size, bytes, n);
    j->text_size += n;
    return 0;
}

static int append_code_point(struct json *j, uint32_t c)
{
    char out[4];
    size_t n = 0;
    if (c < 0x80) {
        out[n++] = (char)c;
    } else if (c < 0x800) {
        out[n++] = (char)(0xc0 | c >> 6);
        out[n++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        out[n++] = (char)(0xe0 | c >> 12);
        out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (c & 0x3f));
    } else {
        out[n++] = (char)(0xf0 | c >> 18);
        out[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (c & 0x3f));
    }
    return append(j, out, n);
}

/* Four hexadecimal digits at j->at + 2, after \u. */
static bool hex4(const struct json *j, uint32_t *out)
{
    uint32_t value = 0;
    if (j->end - j->at < 6)
        return false;
    for (int i = 2; i < 6; i++) {
        char c = j->at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    *out = value;
    return true;
}

/* \uXXXX, or a surrogate pair of them. */
static int read_unicode(struct json *j)
{
    uint32_t c, low;
    if (!hex4(j, &c))
        return json_fail_here(j, "\\u needs four hexadecimal digits");
    if (c == 0)
        return json_fail_here(j, "\\u0000 in a string is not accepted");
    if (c >= 0xdc00 && c <= 0xdfff)
        return json_fail_here(j, "a low surrogate without the high one before it");
    j->at += 6;
    if (c >= 0xd800 && c <= 0xdbff) {
        bool pair = j->end - j->at >= 6 && j->at[0] == '\\' && j->at[1] == 'u' && hex4(j, &low) &&
                    low >= 0xdc00 && low <= 0xdfff;
        if (!pair)
            return json_fail_here(j, "a high surrogate without the low one after it");
        j->at += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    return append_code_point(j, c);
}

static int read_escape(struct json *j)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int err = json_fill_to(j, 12);
    if (err)
        return err;
    if (j->end - j->at < 2)
        return json_fail_here(j, "the text ends inside a string");
    char c = j->at[1];
    if (c == 'u')
        return read_unicode(j);
    const char *known = c ? strchr(from, c) : NULL;
    if (!known)
        return json_fail_here(j, "an escape that JSON does not know");
    j->at += 2;
    return append(j, to + (known - from), 1);
}

static int read_utf8(struct json *j)
{
    int err = json_fill_to(j, 4);
    if (err)
        return err;
    int n = utf8_length(j->at, (size_t)(j->end - j->at));
    if (n == 0)
        return json_fail_here(j, "a string that is not UTF-8");
    err = append(j, j->at, (size_t)n);
    j->at += n;
    return err;
}

int json_read_string(struct json *j)
{
    int err = 0;
    j->text_size = 0;
    j->at++;
    while (!err) {
        const char *run = j->at, *p = run;
        while (p < j->end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
               *p != '\\')
            p++;
        j->at = p;
        if ((err = append(j, run, (size_t)(p - run))))
            break;
        if (p == j->end) {
            err = json_fill(j, 1);
            if (!err && j->at == j->end)
                err = json_fail_here(j, "the text ends inside a string");
        } else if (*p == '"') {
            j->at++;
            j->text[j->text_size] = '\0';
            return 0;
        } else if (*p == '\\') {
            err = read_escape(j);
        } else if ((unsigned char)*p >= 0x80) {
            err = read_utf8(j);
        } else {
            err = json_fail_here(j, "a control character in a string; write it as an escape");
        }
    }
    return err;
}

/* The parts of a number: (-1)^negative * digits * 10^exponent. */
struct parts {
    bool negative, has_point, has_exponent;
    int digits;        /* that count: without leading zeros */
    uint64_t mantissa; /* of the first 19 of them */
    int exponent;
};

static const char *scan_digits(const char *p, const char *end, struct parts *n, int per_digit)
{
    uint64_t mantissa = n->mantissa;
    const char *start = p;
    int digits = n->digits;
    for (; p < end && (unsigned)(*p - '0') < 10; p++) {
        digits += digits > 0 || *p != '0';
        if (digits <= 19)
            mantissa = 10 * mantissa + (uint64_t)(*p - '0');
    }
    n->digits = digits;
    n->mantissa = mantissa;
    n->exponent += per_digit * (int)(p - start);
    return p;
}

static const char *scan_exponent(const char *p, const char *end, struct parts *n)
{
    bool negative = false;
    int value = 0;
    n->has_exponent = true;
    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    const char *start = p;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        value = value < 100000 ? 10 * value + (*p - '0') : value;
    n->exponent += negative ? -value : value;
    return p == start ? NULL : p;
}

/* The end of the number at p, or NULL where it breaks the grammar. */
static const char *scan_number(const char *p, const char *end, struct parts *n)
{
    *n = (struct parts){0};
    if (*p == '-') {
        n->negative = true;
        p++;
    }
    const char *start = p;
    p = scan_digits(p, end, n, 0);
    if (p == start || (*start == '0' && p > start + 1))
        return NULL;
    if (p < end && *p == '.') {
        n->has_point = true;
        start = ++p;
        p = scan_digits(p, end, n, -1);
        if (p == start)
            return NULL;
    }
    if (p < end && (*p == 'e' || *p == 'E'))
        p = scan_exponent(p + 1, end, n);
    return p;
}

static int slow_number(struct json *j, const char *text, size_t length)
{
    char copy[JSON_NUMBER_MAX + 1];
    memcpy(copy, text, length);
    copy[length] = '\0';
    j->number = number_read(copy, NULL);
    return isfinite(j->number) ? 0 : json_fail(j, "a number too large for a double");
}

static void whole_number(struct json *j, const struct parts *n)
{
    uint64_t limit = (uint64_t)INT64_MAX + n->negative;
    j->is_whole = !n->has_point && !n->has_exponent && n->digits <= 19 && n->mantissa <= limit;
    if (j->is_whole)
        j->whole = n->negative ? (int64_t)(0 - n->mantissa) : (int64_t)n->mantissa;
}

int json_read_number(struct json *j)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct parts n;
    int err = json_fill_to(j, JSON_NUMBER_MAX + 1);
    if (err)
        return err;
    bool longer = j->end - j->at > JSON_NUMBER_MAX;
    const char *end = scan_number(j->at, longer ? j->at + JSON_NUMBER_MAX + 1 : j->end, &n);
    if (!end)
        return json_fail(j, "not a number as JSON writes it");
    if (end - j->at > JSON_NUMBER_MAX)
        return json_fail(j, "a number of more than %d characters", JSON_NUMBER_MAX);
    whole_number(j, &n);
    if (n.digits <= 19 && n.mantissa <= (uint64_t)1 << 53 && n.exponent >= -22 &&
        n.exponent <= 22) {
        double m = (double)n.mantissa;
        m = n.exponent < 0 ? m / tens[-n.exponent] : m * tens[n.exponent];
        j->number = n.negative ? -m : m;
    } else {
        err = slow_number(j, j->at, (size_t)(end - j->at));
    }
    j->at = end;
    return err;
}
