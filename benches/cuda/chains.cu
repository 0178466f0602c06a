// Chains: the probability of observations, and random walks.

constexpr int STATES = 4;

__device__ __forceinline__ float log_sum(const float (&logs)[STATES]) {
    float most = logs[0];
#pragma unroll
    for (int i = 1; i < STATES; i++) most = fmaxf(most, logs[i]);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < STATES; i++) sum += expf(logs[i] - most);
    return most + logf(sum);
}

extern "C" __global__ __launch_bounds__(128)
void hmm_forward(const unsigned char* __restrict__ symbols, int steps,
                 const float* __restrict__ initial, const float* __restrict__ transitions,
                 const float* __restrict__ emissions, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float states[STATES];
#pragma unroll
    for (int state = 0; state < STATES; state++) states[state] = initial[state];
    for (int step = 0; step < steps; step++) {
        const float* emission = emissions + symbols[step * n + i] * STATES;
        float next[STATES];
#pragma unroll
        for (int to = 0; to < STATES; to++) {
            float paths[STATES];
#pragma unroll
            for (int from = 0; from < STATES; from++)
                paths[from] = states[from] + transitions[from * STATES + to];
            next[to] = emission[to] + log_sum(paths);
        }
#pragma unroll
        for (int state = 0; state < STATES; state++) states[state] = next[state];
    }
    to[i] = log_sum(states);
}

__device__ __forceinline__ unsigned next_random(unsigned& state) {
    unsigned old = state;
    state = old * 747796405u + 2891336453u;
    unsigned word = ((old >> ((old >> 28) + 4)) ^ old) * 277803737u;
    return (word >> 22) ^ word;
}

extern "C" __global__ __launch_bounds__(128)
void random_walk(const unsigned* __restrict__ rows, const unsigned* __restrict__ neighbors,
                 const unsigned* __restrict__ starts, unsigned seed, unsigned* __restrict__ walks,
                 int length, int n) {
    int walk = blockIdx.x * blockDim.x + threadIdx.x;
    if (walk >= n) return;
    unsigned state = (seed ^ walk) * 0x9e3779b9u + 1;
    unsigned vertex = starts[walk];
    for (int step = 0; step < length; step++) {
        walks[step * n + walk] = vertex;
        unsigned start = rows[vertex], end = rows[vertex + 1];
        if (end > start) vertex = neighbors[start + __umulhi(next_random(state), end - start)];
    }
}
