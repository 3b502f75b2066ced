/* cuda_team_mini.cu - programs for Conv4 on 84 x 84 pictures, 32 filters. */
#include "cuda_team_kernel.cuh"

/* Few weights: the team shares the pixels. */
struct mini {
    using forward0 = forward_of<4, 4, 16, 1, 1, 2, 9>;
    using forward1 = forward_of<5, 4, 4, 1, 4, 2, 9>;
    using forward2 = forward_of<6, 4, 4, 1, 4, 2, 9>;
    using forward3 = forward_of<7, 4, 2, 1, 8, 2, 9>;
    using dx1 = dx_of<5, 4, 16, 1, 1, 32>;
    using dx2 = dx_of<6, 4, 8, 1, 2, 32>;
    using dx3 = dx_of<7, 4, 4, 1, 4, 32>;
    using dw = dw_of<32, 32, 5>;
    using first = first_of<4, 512, 16>;
    static constexpr size_t floats =
        largest(floats_of<forward0, forward1, forward2, forward3, dx1, dx2, dx3, first>(), dw_floats<dw, 4>());

    static __device__ __forceinline__ bool alone(int)
    {
        return false;
    }

    static __device__ __forceinline__ void forward(int layer, const struct conv_step &s,
                                                   const struct team &m, int tasks,
                                                   struct team_shared *shared, float *dynamic)
    {
        switch (layer) {
        case 0: team_forward<forward0>(s, m, tasks, shared, dynamic); break;
        case 1: team_forward<forward1>(s, m, tasks, shared, dynamic); break;
        case 2: team_forward<forward2>(s, m, tasks, shared, dynamic); break;
        default: team_forward<forward3>(s, m, tasks, shared, dynamic); break;
        }
    }

    static __device__ __forceinline__ void norm(int layer, const struct conv_step &s,
                                                const struct team &m, int tasks,
                                                struct team_shared *shared)
    {
        team_norm<32>(4 + layer, s, m, tasks, shared);
    }

    static __device__ __forceinline__ void backward(int layer, const struct conv_step &s,
                                                    const struct team &m, int tasks,
                                                    struct team_shared *shared, float *dynamic)
    {
        switch (layer) {
        case 0: team_first<first>(s, m, tasks, shared, dynamic); break;
        case 1:
            team_dx<dx1>(s, m, dynamic);
            team_dw<dw>(5, s, m, dynamic);
            break;
        case 2:
            team_dx<dx2>(s, m, dynamic);
            team_dw<dw>(6, s, m, dynamic);
            break;
        default:
            team_dx<dx3>(s, m, dynamic);
            team_dw<dw>(7, s, m, dynamic);
            break;
        }
    }
};

extern "C" const void *cuda_team_mini(size_t *bytes)
{
    static_assert(mini::floats * sizeof(float) <= 221 * 1024, "shared memory");
    *bytes = mini::floats * sizeof(float);
    return (const void *)team_kernel<mini>;
}
