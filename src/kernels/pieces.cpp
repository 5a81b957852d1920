#include "common.hpp"

namespace parasphere {

void bind_pieces(nb::module_& /*kernels*/) {}

}  // namespace parasphere
