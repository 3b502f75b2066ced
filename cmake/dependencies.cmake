# Optional libraries.  Each is used in one folder of src/ behind METE_HAVE_NAME.
# The files that need one are always compiled; without the library they hold a
# one-line answer that says which package to install.
find_package(PkgConfig QUIET)

function(mete_optional name module)
  if(METE_CORE_ONLY OR NOT PkgConfig_FOUND)
    return()
  endif()
  pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
  if(${name}_FOUND)
    target_link_libraries(mete_lib PUBLIC PkgConfig::${name})
    target_compile_definitions(mete_lib PUBLIC METE_HAVE_${name}=1)
  endif()
  message(STATUS "${module}: ${${name}_FOUND}")
endfunction()

mete_optional(ARCHIVE libarchive) # data/: zip, tar, xz, gzip
mete_optional(PNG libpng)         # data/: images, contact sheets
mete_optional(JPEG libjpeg)       # data/: images
mete_optional(CURL libcurl)       # data/: fetching public sets
mete_optional(FYAML libfyaml)     # config/: suites
mete_optional(SQLITE sqlite3)     # store/: results
