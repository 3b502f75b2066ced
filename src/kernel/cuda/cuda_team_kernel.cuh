/* cuda_team_kernel.cuh - the kernel that works through a program, for a net known to the
 * compiler. */
#ifndef CUDA_TEAM_KERNEL_CUH
#define CUDA_TEAM_KERNEL_CUH

/* How a layer's forward pass is cut: pixels of a block, planes of its tile, floats of one,
 * and where the tile lies. */
struct cut {
    int block, planes, plane, tile;
};

#include "cuda_team_dw.cuh"
#include "cuda_team_dx.cuh"
#include "cuda_team_forward.cuh"
#include "cuda_team_head.cuh"
#include "cuda_team_norm.cuh"

static __device__ __noinline__ void team_axpy(const struct axpy_step &s, const struct team &m)
{
    enum { EACH = 4, ALL = TEAM * TASK_THREADS };
    float4 *to = (float4 *)((float *)s.to.at + m.task * s.to.stride);
    const float4 *y = (const float4 *)((const float *)s.y.at + m.task * s.y.stride);
    const float4 *x = (const float4 *)((const float *)s.x.at + m.task * s.x.stride);
    int fours = (int)s.fours;
    float4 a = make_float4(s.a, s.a, s.a, s.a), u[EACH], v[EACH];
#pragma unroll 1
    for (int i = m.rank * TASK_THREADS + threadIdx.x; i < fours; i += EACH * ALL) {
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (i + k * ALL < fours) {
                u[k] = __ldcg(y + i + k * ALL);
                v[k] = __ldcg(x + i + k * ALL);
            }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (i + k * ALL < fours)
                __stcg(to + i + k * ALL, fma4(a, v[k], u[k]));
    }
}

/* The head's elements, whose gradient the team has written earlier in the pass. */
static __device__ __forceinline__ void update_head(const struct step &s, const struct team &m)
{
    const struct update &u = s.update;
#pragma unroll 1
    for (unsigned at = u.head + (m.rank * TASK_THREADS + threadIdx.x) * 4;
         u.n > 0 && at < u.head_end; at += TEAM * TASK_THREADS * 4) {
        float4 g = read4((const float *)s.conv.grad.at + m.task * s.conv.grad.stride + at);
        put_gradient(s, m.task, at, g);
    }
}

/* Which block this is: tickets are taken in the order of beginning, so that all blocks of
 * the earlier tasks are at work, and a barrier's wait ends. */
static __device__ __forceinline__ struct team join_team(const struct program &p,
                                                        struct team_shared *shared)
{
    if (threadIdx.x == 0) {
        shared->ticket = (int)atomicAdd(p.tickets, 1u);
        if (shared->ticket == (int)gridDim.x - 1)
            atomicExch(p.tickets, 0u); /* for the next launch */
    }
    __syncthreads();
    int task = shared->ticket / TEAM;
    unsigned *arrived = p.arrived + task * 32;
    /* Up to TEAM - 1 others may have come to the first barrier already, and wait there. */
    unsigned due = arrived_at(arrived) / TEAM * TEAM + TEAM;
    return {task, shared->ticket % TEAM, p.tasks, arrived, due};
}

/* Step i to shared memory, where all code finds it. */
static __device__ __forceinline__ void fetch_step(const struct program &p, int i,
                                                  struct team_shared *shared)
{
    enum { WORDS = sizeof(struct step) / 4 };
    int at = threadIdx.x - (TASK_THREADS - 128); /* the last warps */
    static_assert(sizeof(struct step) % 4 == 0 && WORDS <= 128, "a word each");
    if (i < p.steps && at >= 0 && at < WORDS)
        ((uint32_t *)&shared->step[i % 2])[at] = ((const uint32_t *)&p.step[i])[at];
}

template <class NET>
static __device__ __forceinline__ void run_step(const struct step &s, const struct team &m,
                                                struct team_shared *shared, float *dynamic)
{
    int shape = NET::base + s.layer;
    switch (s.kind) {
    case step::STEP_FORWARD:
        team_forward<NET>(s.layer, s.conv, m, shared, dynamic);
        break;
    case step::STEP_NORM:
        team_norm<NET::f>(shape, s, m, shared);
        break;
    case step::STEP_BACKWARD:
        if (s.layer == 0) {
            team_first<typename NET::first>(s, m, &shared->ch, dynamic);
            update_head(s, m);
        } else {
            team_dx<typename NET::dx>(shape, s.conv, m, dynamic);
            team_dw<typename NET::dw>(shape, s, m, dynamic);
        }
        break;
    case step::STEP_HEAD:
        team_head<NET::f>(s.head, m, shared);
        break;
    case step::STEP_AXPY:
        team_axpy(s.axpy, m);
        break;
    }
}

template <class NET>
static __global__ void __launch_bounds__(TASK_THREADS, 1)
    team_kernel(const __grid_constant__ struct program p)
{
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct team_shared shared;
    wait_for_previous();
    fetch_step(p, 0, &shared);
    struct team m = join_team(p, &shared);
#pragma unroll 1
    for (int i = 0; i < p.steps; i++) {
        fetch_step(p, i + 1, &shared);
        run_step<NET>(shared.step[i % 2], m, &shared, dynamic);
        if (shared.step[i % 2].alone)
            __syncthreads();
        else if (i + 1 < p.steps)
            team_sync(m);
    }
}

/* ---- shared memory, in floats ---- */

static constexpr int largest(int a, int b)
{
    return a > b ? a : b;
}

template <class A> static __host__ __device__ constexpr struct cut cut_of(void)
{
    return {A::block, A::kg, A::plane, A::weights};
}

/* The most that dX and dW need for layer SHAPE. */
template <class DX, class DW, int SHAPE> static constexpr int backward_floats(void)
{
    constexpr struct dims l = dims_of<SHAPE>();
    return largest(DX::floats(l.h, l.w, l.dx_mg), largest(2 * l.dw_stage, DW::kg * DW::plane));
}

template <class NET> static constexpr int net_floats(void)
{
    using dx = typename NET::dx;
    using dw = typename NET::dw;
    int forward = largest(largest(NET::forward0::floats, NET::forward1::floats),
                          largest(NET::forward2::floats, NET::forward3::floats));
    int backward = largest(
        largest(backward_floats<dx, dw, NET::base + 1>(), backward_floats<dx, dw, NET::base + 2>()),
        backward_floats<dx, dw, NET::base + 3>());
    return largest(largest(forward, backward), NET::first::floats);
}

/* What every net has: its layers' forward passes, one by one. */
template <class NET> struct net_of {
    static __device__ __forceinline__ struct cut cut(int layer)
    {
        return layer == 0   ? cut_of<typename NET::forward0>()
               : layer == 1 ? cut_of<typename NET::forward1>()
               : layer == 2 ? cut_of<typename NET::forward2>()
                            : cut_of<typename NET::forward3>();
    }

    static __device__ __forceinline__ void convolve(int layer, const struct forward_share &s,
                                                    int m0, float *weights, float *tile)
    {
        switch (layer) {
        case 0:
            convolve_block<typename NET::forward0>(s, m0, weights, tile);
            break;
        case 1:
            convolve_block<typename NET::forward1>(s, m0, weights, tile);
            break;
        case 2:
            convolve_block<typename NET::forward2>(s, m0, weights, tile);
            break;
        default:
            convolve_block<typename NET::forward3>(s, m0, weights, tile);
            break;
        }
    }
};

#endif
