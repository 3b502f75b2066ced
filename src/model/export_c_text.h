/* export_c_text.h - the functions of an exported C file, as they stand in it. */
#ifndef MODEL_EXPORT_C_TEXT_H
#define MODEL_EXPORT_C_TEXT_H

extern const char export_c_product[], export_c_convolve[], export_c_dense[], export_c_softmax[];
/* A format: the name (s), inputs (zu), ways (d), the name (s), ways (d). */
extern const char export_c_main[];

#endif
