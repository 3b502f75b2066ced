# The library as other programs link it: libmete.so and libmete.a, whose only symbols are those of
# include/, mete.pc and a CMake package.  What the tests and the program link is mete_lib, in which
# every function can be reached.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(METE_HEADERS include/mete.h include/mete_learner.h include/mete_personal.h include/mete_ranks.h
    include/mete_plan.h include/mete_theory.h)
install(FILES ${METE_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(METE_SANITIZE OR METE_FUZZ OR METE_CUDA_STANDIN)
  return() # builds for tests alone
endif()

# Before 1.0 a minor version may change the interface: it is part of the name that programs ask for.
set(exports ${CMAKE_CURRENT_BINARY_DIR}/mete.exports)
file(WRITE ${exports} "{ global: mete_*; local: *; };\n")
set(nothing ${CMAKE_CURRENT_BINARY_DIR}/mete_nothing.c)
file(WRITE ${nothing} "typedef int mete_nothing; /* a library needs one source of its own */\n")
add_library(mete_shared SHARED ${nothing})
set_target_properties(mete_shared PROPERTIES
  OUTPUT_NAME mete VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${exports})
target_link_libraries(mete_shared PRIVATE -Wl,--whole-archive mete_lib -Wl,--no-whole-archive)
target_link_options(mete_shared PRIVATE -Wl,--version-script=${exports} -Wl,--gc-sections -Wl,-z,defs)

# All objects as one, in which other symbols are local: a program's `fail` is its own.  --unique: sections
# of one name, as two files' static `load` have, stay apart, so that a program leaves out what it does not call.
set(archive ${CMAKE_CURRENT_BINARY_DIR}/libmete.a)
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_LINKER} -r --unique --whole-archive $<TARGET_FILE:mete_lib> -o mete_whole.o
  COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=mete_*" mete_whole.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} rcs ${archive} mete_whole.o
  COMMAND ${CMAKE_COMMAND} -E rm -f mete_whole.o
  DEPENDS mete_lib WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} COMMENT "Writing libmete.a" VERBATIM)
add_custom_target(mete_archive ALL DEPENDS ${archive})

# What libmete.a needs beside itself, as flags: a program that links it needs neither the .pc files nor the
# archives of those libraries.
list(JOIN METE_OPTIONAL_FLAGS " " METE_LIBS_PRIVATE)
# Folders count from the file itself, wherever `cmake --install --prefix` puts it.
set(METE_PREFIX ${CMAKE_INSTALL_PREFIX})
set(METE_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
set(METE_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  string(REGEX REPLACE "[^/]+" ".." up "${CMAKE_INSTALL_LIBDIR}")
  set(METE_PREFIX "\${pcfiledir}/../${up}")
  set(METE_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(METE_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/mete.pc.in mete.pc @ONLY)
configure_package_config_file(cmake/mete-config.cmake.in mete-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mete PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(mete-config-version.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS mete_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mete.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mete-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/mete-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mete)
