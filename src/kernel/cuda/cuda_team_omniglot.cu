/* cuda_team_omniglot.cu - programs for Conv4 on 28 x 28 pictures, 64 filters. */
#include "cuda_team_kernel.cuh"

struct omniglot : net_of<omniglot> {
    static constexpr int base = 0, f = 64;
    using forward0 = forward_of<0, 16, 1, 2>;
    using forward1 = forward_of<1, 4, 4, 2>;
    using forward2 = forward_of<2, 2, 8, 3>;
    using forward3 = forward_of<3, 1, 16, 2>;
    using dx = dx_of<64, 64>;
    using dw = dw_of<64, 64, 2>;
    using first = first_of<0, 512>;
};

extern "C" const void *cuda_team_omniglot(size_t *bytes)
{
    constexpr size_t most = net_floats<omniglot>() * sizeof(float);
    static_assert(most <= 222 * 1024, "shared memory");
    *bytes = most;
    return (const void *)team_kernel<omniglot>;
}
