/* cuda_team_kernel.cuh - the kernel that works through a program, for a net known to the
 * compiler. */
#ifndef CUDA_TEAM_KERNEL_CUH
#define CUDA_TEAM_KERNEL_CUH

#include "cuda_dense.cuh"
#include "cuda_team_dw.cuh"
#include "cuda_team_dx.cuh"
#include "cuda_team_forward.cuh"
#include "cuda_team_norm.cuh"
#include "cuda_xent.cuh"

static __device__ __forceinline__ void team_axpy(const struct axpy_step &s, const struct team &m)
{
    enum { EACH = 8 };
    float4 *to = (float4 *)((float *)s.to.at + m.task * s.to.stride);
    const float4 *y = (const float4 *)((const float *)s.y.at + m.task * s.y.stride);
    const float4 *x = (const float4 *)((const float *)s.x.at + m.task * s.x.stride);
    int all = TEAM * TASK_THREADS;
    for (size_t i = m.rank * TASK_THREADS + threadIdx.x; i < s.fours; i += EACH * all) {
        float4 u[EACH], v[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (i + k * all < s.fours) {
                u[k] = __ldcg(y + i + k * all);
                v[k] = __ldcg(x + i + k * all);
            }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (i + k * all < s.fours)
                __stcg(to + i + k * all, make_float4(fmaf(s.a, v[k].x, u[k].x),
                                                     fmaf(s.a, v[k].y, u[k].y),
                                                     fmaf(s.a, v[k].z, u[k].z),
                                                     fmaf(s.a, v[k].w, u[k].w)));
    }
}

/* All blocks compute the loss, and write the same; each has its part of the way back. */
static __device__ __forceinline__ void team_head(const struct head_args &a, const struct team &m)
{
    const struct dense_args &k = a.dense;
    int n = k.count ? k.count[m.task] : k.n, rank = m.rank * TASK_THREADS + threadIdx.x;
    for (int i0 = 0, at = threadIdx.x / 32; i0 < n; i0 += ROWS, at -= k.out_c)
        for (; at < k.out_c; at += TASK_WARPS)
            dense_unit<false>(k, m.task, n, i0, at);
    __syncthreads();
    xent_task<TASK_WARPS>(a.xent, m.task);
    __syncthreads();
    for (int at = rank; a.backward && at < (k.out + n) * (k.in / 4); at += TEAM * TASK_THREADS)
        dense_quad<false>(k, m.task, n, at);
}

/* Which block this is: tickets are taken in the order of beginning, so that all blocks of
 * the earlier tasks are at work, and a barrier's wait ends. */
static __device__ __forceinline__ struct team join_team_of(const struct program &p,
                                                           struct team_shared *shared)
{
    if (threadIdx.x == 0) {
        shared->ticket = (int)atomicAdd(p.tickets, 1u);
        if (shared->ticket == (int)gridDim.x - 1)
            atomicExch(p.tickets, 0u); /* for the next launch */
    }
    __syncthreads();
    int task = shared->ticket / TEAM;
    return {task, shared->ticket % TEAM, p.arrived + task * 32};
}

template <class NET>
static __global__ void __launch_bounds__(TASK_THREADS, 1)
    team_kernel(const __grid_constant__ struct program p)
{
    extern __shared__ __align__(128) float dynamic[];
    __shared__ struct team_shared shared;
    wait_for_previous();
    struct team m = join_team_of(p, &shared);
    for (int i = 0; i < p.steps; i++) {
        const struct step &s = p.step[i];
        switch (s.kind) {
        case step::STEP_FORWARD:
            NET::forward(s.layer, s.conv, m, p.tasks, &shared, dynamic);
            break;
        case step::STEP_NORM: NET::norm(s.layer, s.conv, m, p.tasks, &shared); break;
        case step::STEP_BACKWARD:
            NET::backward(s.layer, s.conv, m, p.tasks, &shared, dynamic);
            break;
        case step::STEP_HEAD: team_head(s.head, m); break;
        case step::STEP_AXPY: team_axpy(s.axpy, m); break;
        }
        if (s.alone && NET::alone(s.layer))
            __syncthreads();
        else if (i + 1 < p.steps)
            team_sync(m);
    }
}

static constexpr size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

template <class A, class... MORE> static constexpr size_t floats_of(void)
{
    if constexpr (sizeof...(MORE) == 0)
        return A::floats;
    else
        return largest(A::floats, floats_of<MORE...>());
}

#endif
