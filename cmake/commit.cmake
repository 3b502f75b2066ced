# Writes OUT, a header with the commit of SOURCE ("" without git), where it says something else:
#   cmake -DSOURCE=. -DOUT=commit.h -P cmake/commit.cmake
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --exclude "*"
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define METE_COMMIT \"@commit@\"\n" @ONLY)
