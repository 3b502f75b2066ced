/* cuda_team_omniglot.cu - programs for Conv4 on 28 x 28 pictures, 64 filters. */
#include "cuda_team_kernel.cuh"

/* The first two layers have many pixels: the team shares those.  The others have many
 * weights: it shares the channels. */
struct omniglot {
    using forward0 = forward_of<0, 4, 8, 2, 1, 2, 9>;
    using forward1 = forward_of<1, 4, 2, 2, 4, 2, 3>;
    using forward2 = forward_of<2, 1, 2, 1, 8, 3, 9>;
    using forward3 = forward_of<3, 1, 1, 1, 16, 2, 9>;
    using dx1 = dx_of<1, 4, 4, 2, 2, 16>;
    using dx2 = dx_of<2, 1, 8, 1, 2, 64>;
    using dx3 = dx_of<3, 1, 2, 1, 8, 64>;
    using dw = dw_of<64, 64, 2>;
    using first = first_of<0, 256, 8>;
    static constexpr size_t floats =
        largest(floats_of<forward0, forward1, forward2, forward3, dx1, dx2, dx3, first>(), dw_floats<dw, 0>());

    /* Whether a layer's dX is by channels, as the norm after it. */
    static __device__ __forceinline__ bool alone(int layer)
    {
        return layer >= 2;
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
        team_norm<64>(0 + layer, s, m, tasks, shared);
    }

    static __device__ __forceinline__ void backward(int layer, const struct conv_step &s,
                                                    const struct team &m, int tasks,
                                                    struct team_shared *shared, float *dynamic)
    {
        switch (layer) {
        case 0: team_first<first>(s, m, tasks, shared, dynamic); break;
        case 1:
            team_dx<dx1>(s, m, dynamic);
            team_dw<dw>(1, s, m, dynamic);
            break;
        case 2:
            team_dx<dx2>(s, m, dynamic);
            team_dw<dw>(2, s, m, dynamic);
            break;
        default:
            team_dx<dx3>(s, m, dynamic);
            team_dw<dw>(3, s, m, dynamic);
            break;
        }
    }
};

extern "C" const void *cuda_team_omniglot(size_t *bytes)
{
    static_assert(omniglot::floats * sizeof(float) <= 221 * 1024, "shared memory");
    *bytes = omniglot::floats * sizeof(float);
    return (const void *)team_kernel<omniglot>;
}
