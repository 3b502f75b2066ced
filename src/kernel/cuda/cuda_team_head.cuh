/* cuda_team_head.cuh - a net's last dense layer, its loss and the way back, by a team; in
 * fp32. */
#ifndef CUDA_TEAM_HEAD_CUH
#define CUDA_TEAM_HEAD_CUH

#include "cuda_dense.cuh"
#include "cuda_team.cuh"

/* All blocks compute all logits (images, classes); the first writes them. */
static __device__ __forceinline__ void team_logits(const struct dense_args &k, const struct team &m,
                                                   int n, struct head_shared *h)
{
    const float *x = k.x + (size_t)m.task * k.n * k.in;
    const float *w = (const float *)k.theta.at + m.task * k.theta.stride;
#pragma unroll 1
    for (int pair = threadIdx.x / 32; pair < n * k.out; pair += TASK_WARPS) {
        int i = pair / k.out, o = pair - i * k.out;
        float sum = 0;
#pragma unroll 2
        for (int j = threadIdx.x % 32 * 4; j < k.in; j += 128)
            sum = dot4(read4(x + i * k.in + j), read4(w + k.weight + o * k.in + j), sum);
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(~0u, sum, step);
        if (threadIdx.x % 32 == 0)
            h->logit[pair] = sum + __ldcg(w + k.bias + o);
    }
}

/* Thread i's image: probabilities, the loss and its gradient, which replaces the logits. */
static __device__ __forceinline__ void team_softmax(const struct head_args &a, const struct team &m,
                                                    int n, struct head_shared *h)
{
    const struct dense_args &k = a.dense;
    int i = threadIdx.x, y = i < n ? a.xent.labels[m.task * k.n + i] : -1;
    int labelled = __syncthreads_count(y >= 0);
    float weight = a.xent.mean && labelled > 0 ? 1.0f / labelled : 1, top = -INFINITY, sum = 0;
    if (i >= n)
        return;
    size_t row = (size_t)m.task * k.n + i;
    float *logit = h->logit + i * k.out;
#pragma unroll 1
    for (int o = 0; o < k.out; o++)
        top = fmaxf(top, logit[o]);
#pragma unroll 1
    for (int o = 0; o < k.out; o++)
        sum += expf(logit[o] - top);
    h->loss[i] = y < 0 ? 0 : weight * (logf(sum) + top - logit[y]);
#pragma unroll 1
    for (int o = 0; o < k.out_c; o++) {
        float v = o < k.out ? logit[o] : 0, p = o < k.out ? expf(v - top) / sum : 0;
        float d = y < 0 || o >= k.out ? 0 : weight * (p - (o == y));
        if (m.rank == 0) {
            k.cache.out[row * k.out_c + o] = v;
            k.cache.dout[row * k.out_c + o] = d;
            if (o < k.out)
                a.xent.probs[row * k.out + o] = p;
        }
        if (o < k.out)
            logit[o] = d;
    }
}

/* Four columns of a row of dw, or of dx. */
static __device__ __forceinline__ void team_head_quad(const struct dense_args &k,
                                                      const struct team &m, int n, int row, int j,
                                                      const float *d)
{
    const float *x = k.x + (size_t)m.task * k.n * k.in + j;
    const float *w = (const float *)k.theta.at + m.task * k.theta.stride + k.weight + j;
    float *grad = (float *)k.grad.at + m.task * k.grad.stride;
    bool dw = row < k.out;
    const float *from = dw ? x : w, *by = dw ? d + row : d + (row - k.out) * k.out;
    int terms = dw ? n : k.out, apart = dw ? k.out : 1;
    float4 sum = {};
    float bias = 0;
#pragma unroll 4
    for (int i = 0; i < terms; i++) {
        add4(sum, by[i * apart], read4(from + i * k.in));
        bias += by[i * apart];
    }
    write4(dw ? grad + k.weight + row * k.in + j
              : k.dx + ((size_t)m.task * k.n + row - k.out) * k.in + j,
           sum);
    if (dw && j == 0)
        grad[k.bias + row] = bias;
}

/* Each block has its own channels of the features, of F. */
template <int F>
static __device__ __noinline__ void team_head(const struct head_args &a, const struct team &m,
                                              struct team_shared *shared)
{
    constexpr int own = F / TEAM, quads = own / 4;
    const struct dense_args &k = a.dense;
    int n = k.count ? k.count[m.task] : k.n, of_row = k.in / TEAM / 4;
    int rows = !a.backward ? 0 : k.out + (k.dx ? n : 0);
    struct head_shared *h = &shared->head;
    team_logits(k, m, n, h);
    __syncthreads();
    team_softmax(a, m, n, h);
    __syncthreads();
#pragma unroll 1
    for (int at = threadIdx.x; at < rows * of_row; at += TASK_THREADS) {
        int row = at / of_row, q = at % of_row;
        team_head_quad(k, m, n, row, q / quads * F + m.rank * own + q % quads * 4, h->logit);
    }
    if (m.rank > 0 || threadIdx.x > 0)
        return;
    float loss = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        loss += h->loss[i];
    a.xent.loss[m.task] = loss;
}

#endif
