# Optional libraries.  Each is used in one folder of src/ behind METE_HAVE_NAME.
# The files that need one are always compiled; without the library they hold a
# one-line answer that says which package to install.
find_package(PkgConfig QUIET)

# The archives of a library and of all it needs; empty unless every one is there.
function(mete_archives out)
  set(found)
  foreach(library IN LISTS ARGN)
    if(library STREQUAL "m" OR library STREQUAL "pthread" OR library STREQUAL "dl")
      continue()
    endif()
    find_library(METE_ARCHIVE_${library} NAMES lib${library}.a)
    if(NOT METE_ARCHIVE_${library})
      set(${out} "" PARENT_SCOPE)
      return()
    endif()
    list(APPEND found ${METE_ARCHIVE_${library}})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(mete_optional name module)
  if(METE_CORE_ONLY OR NOT PkgConfig_FOUND)
    return()
  endif()
  pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
  set(link PkgConfig::${name})
  if(${name}_FOUND AND METE_PORTABLE)
    mete_archives(link ${${name}_STATIC_LIBRARIES})
  endif()
  if(${name}_FOUND AND link)
    target_link_libraries(mete_lib PUBLIC ${link})
    target_include_directories(mete_lib PUBLIC ${${name}_INCLUDE_DIRS})
    target_compile_definitions(mete_lib PUBLIC METE_HAVE_${name}=1)
    message(STATUS "${module}: ${link}")
    set(flags ${${name}_LDFLAGS}) # for whoever links libmete.a
    foreach(folder IN LISTS CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
      list(REMOVE_ITEM flags -L${folder})
    endforeach()
    set(METE_OPTIONAL_FLAGS ${METE_OPTIONAL_FLAGS} ${flags} PARENT_SCOPE)
  else()
    message(STATUS "${module}: no")
  endif()
endfunction()

mete_optional(ARCHIVE libarchive) # data/: zip, tar, xz, gzip
mete_optional(PNG libpng)         # data/: images, contact sheets
mete_optional(JPEG libjpeg)       # data/: images
mete_optional(CURL libcurl)       # data/: fetching public sets
mete_optional(YAML yaml-0.1)      # config/: suites
mete_optional(SQLITE sqlite3)     # store/: results
mete_optional(MICROHTTPD libmicrohttpd) # serve/: the page in the browser
