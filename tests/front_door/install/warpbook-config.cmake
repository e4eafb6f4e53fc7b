# find_package(warpbook): the take-away headers, each a file of its own.
#
#     find_package(warpbook 0.9 REQUIRED)
#     target_link_libraries(mine PRIVATE warpbook::warpbook)     # #include <warpbook/permute.cuh>
if(NOT TARGET warpbook::warpbook)
  get_filename_component(warpbook_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(warpbook::warpbook INTERFACE IMPORTED)
  set_target_properties(warpbook::warpbook PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${warpbook_prefix}/include"
    INTERFACE_COMPILE_FEATURES "cxx_std_20")
  unset(warpbook_prefix)
endif()
