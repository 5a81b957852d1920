#include "common.hpp"

namespace parasphere {

void bind_vector_files(nb::module_& /*kernels*/) {}

}  // namespace parasphere
