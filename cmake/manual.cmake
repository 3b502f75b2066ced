# The manual page and the shells' completions, which the command prints from its own tables.
include(GNUInstallDirs)
if(NOT CMAKE_CROSSCOMPILING)
  set(share ${CMAKE_CURRENT_BINARY_DIR}/share)
  file(MAKE_DIRECTORY ${share})
  foreach(kind man bash zsh)
    add_custom_command(OUTPUT ${share}/mete.${kind}
      COMMAND mete help --${kind} > ${share}/mete.${kind}
      DEPENDS mete COMMENT "Writing mete.${kind}" VERBATIM)
    list(APPEND manuals ${share}/mete.${kind})
  endforeach()
  add_custom_target(manual ALL DEPENDS ${manuals})
  install(FILES ${share}/mete.man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME mete.1)
  install(FILES ${share}/mete.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME mete)
  install(FILES ${share}/mete.zsh
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _mete)
endif()
