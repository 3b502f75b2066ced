/* npy.h - arrays in NumPy's .npy files, versions 1 and 2.
 *
 * Read and written: u1, i4, i8, f4, f8, little endian, C order.  Everything else
 * is refused by name.  The data of a file opened here is aligned for its type.
 */
#ifndef BASE_NPY_H
#define BASE_NPY_H

#include "base/file.h"
#include "base/ndarray.h"

struct npy {
    struct ndarray array; /* DTYPE_U8, _I32, _I64, _F32 or _F64 */
    struct file_map map;  /* private */
};

int npy_open(struct npy *f, const char *path); /* maps the file */
/* The same over memory, which must outlive it; `name` is what errors call it. */
int npy_open_memory(struct npy *f, const char *name, const void *data, size_t size);
void npy_close(struct npy *f); /* zeroed is fine */

int npy_write(const char *path, enum dtype type, int rank, const int64_t *shape, const void *data);

/* The bytes before the data, for those who write the data themselves: padded to a
 * multiple of 64 that is at least `least`; their number, or 0 for a type that npy
 * files of ours do not have. */
enum { NPY_HEADER_ROOM = 1024, NPY_HEADER_LEAST = 128 };
size_t npy_header(char out[NPY_HEADER_ROOM], enum dtype type, int rank, const int64_t *shape,
                  size_t least);

/* The header alone, at the front of `size` bytes: the array's type and shape and how many bytes it
 * has, and where its data begins.  *offset 0: there is more of the header to come. */
int npy_header_read(struct ndarray *out, size_t *offset, const char *name, const void *data,
                    size_t size);

/* Writing an array row by row, when the number of rows is not known beforehand. */
struct npy_out {
    struct file_out file;
    struct ndarray array; /* shape[0] counts the rows written */
    size_t header, row;   /* bytes */
};
int npy_out_open(struct npy_out *o, const char *path, enum dtype type, int rank,
                 const int64_t *shape); /* rank >= 1; shape[0] is ignored */
int npy_out_rows(struct npy_out *o, const void *rows, int64_t n);
int npy_out_commit(struct npy_out *o);   /* closed then, failed or not */
void npy_out_abandon(struct npy_out *o); /* closed or zeroed is fine */

#endif
