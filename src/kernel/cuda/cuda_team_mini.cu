/* cuda_team_mini.cu - programs for Conv4 on 84 x 84 pictures, 32 filters. */
#include "cuda_team_kernel.cuh"

struct mini : net_of<mini> {
    static constexpr int base = 4, f = 32;
    using forward0 = forward_of<4, 16, 1, 4>;
    using forward1 = forward_of<5, 8, 2, 2>;
    using forward2 = forward_of<6, 8, 2, 2>;
    using forward3 = forward_of<7, 8, 2, 2>;
    using dx = dx_of<32, 32>;
    using dw = dw_of<32, 32, 5>;
    using first = first_of<4, 1024>;
};

extern "C" const void *cuda_team_mini(size_t *bytes)
{
    constexpr size_t most = net_floats<mini>() * sizeof(float);
    static_assert(most <= 222 * 1024, "shared memory");
    *bytes = most;
    return (const void *)team_kernel<mini>;
}
