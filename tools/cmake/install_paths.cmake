# Where things are installed: GNUInstallDirs, and what the programs need to know of it.
include(GNUInstallDirs)

set(AK_INSTALL_DATADIR ${CMAKE_INSTALL_DATADIR}/alphakernel)

# The folders and names by which the shells look for completion.
set(AK_INSTALL_COMPLETION_bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
set(AK_INSTALL_COMPLETION_zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
set(AK_INSTALL_COMPLETION_fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
set(AK_COMPLETION_NAME_bash alphakernel)
set(AK_COMPLETION_NAME_zsh _alphakernel)
set(AK_COMPLETION_NAME_fish alphakernel.fish)

# Relative to the folder of the programs, so that an installed tree can be moved.
GNUInstallDirs_get_absolute_install_dir(data AK_INSTALL_DATADIR DATADIR)
file(RELATIVE_PATH AK_DATA_FROM_PROGRAMS ${CMAKE_INSTALL_FULL_BINDIR} ${data})
