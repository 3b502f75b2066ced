/* test_csv.c - the CSV reader. */
#include "data/csv.h"
#include "test.h"

struct text {
    const char *at;
    size_t left, chunk; /* at most so many bytes a read */
};

static int64_t read_text(void *user, void *to, size_t size)
{
    struct text *t = user;
    size_t n = size < t->chunk ? size : t->chunk;
    n = n < t->left ? n : t->left;
    memcpy(to, t->at, n);
    t->at += n;
    t->left -= n;
    return (int64_t)n;
}

/* All fields as "a|b;c|d;" or the failure's sentence. */
static const char *parse_by(char separator, const char *csv, size_t chunk)
{
    static char out[1024];
    struct text text = {csv, strlen(csv), chunk};
    struct csv c;
    bool more;
    int err;
    *out = '\0';
    csv_open(&c, "f.csv", separator, read_text, &text);
    while (!(err = csv_next(&c, &more)) && more) {
        for (int i = 0; i < c.n; i++)
            snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? "|" : "", c.field[i]);
        strcat(out, ";");
    }
    csv_close(&c);
    return err ? mete_errmsg() : out;
}

static const char *parse(const char *csv, size_t chunk)
{
    return parse_by(',', csv, chunk);
}

TEST(records_and_fields_are_separated)
{
    CHECK_STR(parse("a,b\nc,d\n", 100), "a|b;c|d;");
    CHECK_STR(parse("a,b\r\nc,d", 100), "a|b;c|d;");
    CHECK_STR(parse("a,,\n,x", 100), "a||;|x;");
    CHECK_STR(parse("", 100), "");
    CHECK_STR(parse("\n\na\n\n", 100), "a;");
    CHECK_STR(parse("\xef\xbb\xbf"
                    "a,b\n",
                    100),
              "a|b;");
}

TEST(quoted_fields_may_hold_anything)
{
    CHECK_STR(parse("\"a,b\",c\n", 100), "a,b|c;");
    CHECK_STR(parse("\"say \"\"hi\"\"\"\n", 100), "say \"hi\";");
    CHECK_STR(parse("\"two\nlines\",x\n", 100), "two\nlines|x;");
    CHECK_STR(parse("\"\",\"\"\n", 100), "|;");
}

TEST(reads_of_one_byte_give_the_same)
{
    const char *csv = "a,\"b \"\"x\"\"\"\r\n\"c\nd\",e\r\n\r\nf,g";
    CHECK_STR(parse(csv, 1), "a|b \"x\";c\nd|e;f|g;");
}

TEST(the_first_line_says_what_separates)
{
    CHECK_STR(parse_by(CSV_ANY_SEPARATOR, "a;b\n1,5;2\n", 100), "a|b;1,5|2;");
    CHECK_STR(parse_by(CSV_ANY_SEPARATOR, "a,b\n1;5,2\n", 100), "a|b;1;5|2;");
    CHECK_STR(parse_by(CSV_ANY_SEPARATOR, "a\tb,c\td\n", 100), "a|b,c|d;");
    CHECK_STR(parse_by(CSV_ANY_SEPARATOR, "\"a,b,c\";d\r\n1;2\r\n", 100), "a,b,c|d;1|2;");
    CHECK_STR(parse_by(CSV_ANY_SEPARATOR, "\n\na;b\n", 1), "a|b;");
    CHECK_STR(parse_by(CSV_ANY_SEPARATOR,
                       "\xef\xbb\xbf"
                       "a;b\n",
                       1),
              "a|b;");
    CHECK_STR(parse_by(CSV_ANY_SEPARATOR, "one\n2\n", 100), "one;2;");
}

TEST(faults_have_their_place)
{
    CHECK_STR(parse("a,b\nc,\"d", 100), "f.csv:2:3: a quoted field that does not end");
    CHECK_STR(parse("a,b\"c\n", 100), "f.csv:1:4: a quote inside a field that is not quoted");
    CHECK_STR(parse("a\n\"b\"c\n", 100), "f.csv:2:4: text after the closing quote of a field");
    CHECK_STR(parse("a\rb\n", 100), "f.csv:1:3: a carriage return inside a line");
    CHECK_STR(parse("a,b\n\xc3\xa9,\xe9t\xe9\n", 100),
              "f.csv:2:4: text that is not UTF-8; save the file as UTF-8 (iconv -f WINDOWS-1252 -t "
              "UTF-8, if it is from a spreadsheet)");
    CHECK_STR(parse("\xff\xfe"
                    "a",
                    1),
              "f.csv:1:1: UTF-16 text; save the file as UTF-8 (iconv -f UTF-16 -t UTF-8)");
    CHECK_STR(parse("\"\xc3\"\n", 1), parse("\xc3\n", 100)); /* cut short */
}

TESTS(T(records_and_fields_are_separated), T(quoted_fields_may_hold_anything),
      T(reads_of_one_byte_give_the_same), T(the_first_line_says_what_separates),
      T(faults_have_their_place))
