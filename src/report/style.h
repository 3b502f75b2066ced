/* style.h - one look for every figure: a method has its colour for ever, a label strategy its
 * dashes and marker.  The colours are classes k0 to k7 of page.css, the ink is class ki.
 */
#ifndef REPORT_STYLE_H
#define REPORT_STYLE_H

enum { STYLE_COLOURS = 8, STYLE_INK = -1 };

/* The number of the colour of `name`: fixed for the methods built in; the next free one for
 * another, remembered in `s`; STYLE_INK for NULL, "" and for label strategies. */
enum { STYLE_NAMES = 64 };
struct style {
    char *other[STYLE_NAMES];  /* names met that have no colour of their own, in order */
    char *marked[STYLE_NAMES]; /* strategies met that have no marker of their own */
    int others, marks;
};
int style_colour(struct style *s, const char *name);
void style_release(struct style *s);

/* The dashes of a line as SVG writes them ("" is a solid line), and its marker: fixed for the
 * strategies built in, for others ("active, train.resplit=yes") the next free one. */
enum marker { MARK_CIRCLE, MARK_SQUARE, MARK_TRIANGLE, MARK_DIAMOND, MARK_CROSS, MARK_DOWN, MARKS };
const char *style_dashes(const char *strategy);
enum marker style_marker(struct style *s, const char *strategy);

/* "ProtoNets" for protonet: a method's name in a sentence; other names as they are. */
const char *style_method(const char *name);

#endif
