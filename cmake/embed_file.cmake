# Writes the bytes of IN to OUT as a C array called NAME; run by cmake/embed.cmake.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "#include <stddef.h>
extern const unsigned char ${NAME}[];
extern const size_t ${NAME}_size;
const unsigned char ${NAME}[] = {\n${bytes}0};
const size_t ${NAME}_size = sizeof ${NAME} - 1;
")
