/* cuda_team_kernel.cuh - the kernel that works through a program, for a net known to the
 * compiler. */
#ifndef CUDA_TEAM_KERNEL_CUH
#define CUDA_TEAM_KERNEL_CUH

#include "cuda_team_dw.cuh"
#include "cuda_team_dx.cuh"
#include "cuda_team_forward.cuh"
#include "cuda_team_head.cuh"
#include "cuda_team_norm.cuh"

static __device__ __noinline__ void team_axpy(const struct axpy_step &s, const struct team &m)
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
        case step::STEP_HEAD: team_head(s.head, m, &shared); break;
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

/* The most that dW needs for layers 1 to 3 of the net that begins with shape BASE. */
template <class A, int BASE> static constexpr size_t dw_floats(void)
{
    size_t stage = largest(largest(dims_of<BASE + 1>().dw_stage, dims_of<BASE + 2>().dw_stage),
                           dims_of<BASE + 3>().dw_stage);
    return largest(2 * stage, A::kg * A::plane);
}

#endif
