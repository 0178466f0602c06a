// A scan of any length in one pass over memory: tiles say what their sums are, and look back at what
// the tiles before have said.

constexpr int THREADS = 256;
constexpr int ITEMS = 8;
constexpr int TILE = THREADS * ITEMS;
constexpr unsigned FULL = 0xffffffff;
constexpr unsigned long long OWN = 1ull << 32, UP_TO = 2ull << 32;

__device__ __forceinline__ unsigned look_back(int tile, unsigned sum,
                                              volatile unsigned long long* states, int lane) {
    if (tile == 0) {
        if (lane == 0) states[tile] = UP_TO | sum;
        return 0;
    }
    if (lane == 0) states[tile] = OWN | sum;
    unsigned before = 0;
    for (int end = tile;; end -= 32) {
        int other = end - 1 - lane;
        unsigned long long state = UP_TO;
        if (other >= 0)
            do {
                state = states[other];
            } while (state == 0);
        unsigned complete = __ballot_sync(FULL, state >= UP_TO);
        int last = complete ? __ffs(complete) - 1 : 32;
        unsigned mine = lane <= last ? unsigned(state) : 0;
        for (int distance = 16; distance > 0; distance /= 2)
            mine += __shfl_xor_sync(FULL, mine, distance);
        before += mine;
        if (complete) {
            if (lane == 0) states[tile] = UP_TO | (before + sum);
            return before;
        }
    }
}

extern "C" __global__ __launch_bounds__(THREADS)
void scan(const unsigned* __restrict__ from, unsigned long long* states,
          unsigned* __restrict__ to) {
    __shared__ unsigned shared[THREADS / 32];
    __shared__ unsigned before;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int start = blockIdx.x * TILE + threadIdx.x * ITEMS;
    unsigned mine[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i += 4)
        *reinterpret_cast<uint4*>(mine + i) = *reinterpret_cast<const uint4*>(from + start + i);
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) sum += mine[i];
    unsigned up_to = sum;
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned other = __shfl_up_sync(FULL, up_to, distance);
        if (lane >= distance) up_to += other;
    }
    if (lane == 31) shared[warp] = up_to;
    __syncthreads();
    if (warp == 0) {
        unsigned sums = lane < THREADS / 32 ? shared[lane] : 0;
        for (int distance = 1; distance < THREADS / 32; distance *= 2) {
            unsigned other = __shfl_up_sync(FULL, sums, distance);
            if (lane >= distance) sums += other;
        }
        unsigned all = __shfl_sync(FULL, sums, THREADS / 32 - 1);
        if (lane < THREADS / 32) shared[lane] = sums;
        unsigned found = look_back(blockIdx.x, all, states, lane);
        if (lane == 0) before = found;
    }
    __syncthreads();
    unsigned running = before + (warp == 0 ? 0 : shared[warp - 1]) + up_to - sum;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        unsigned x = mine[i];
        mine[i] = running;
        running += x;
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i += 4)
        *reinterpret_cast<uint4*>(to + start + i) = *reinterpret_cast<uint4*>(mine + i);
}
