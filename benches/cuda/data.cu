// Sorting, compaction, checksums, alignment of sequences, clustering and embeddings.

constexpr unsigned FULL = 0xffffffff;
constexpr int SORTED = 1024;

// x is the key, y the value.
extern "C" __global__ __launch_bounds__(SORTED)
void bitonic_pairs(const uint2* __restrict__ from, uint2* __restrict__ to) {
    __shared__ uint2 shared[SORTED];
    int thread = threadIdx.x;
    uint2 mine = from[blockIdx.x * SORTED + thread];
    for (int size = 2; size <= SORTED; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            shared[thread] = mine;
            __syncthreads();
            uint2 other = shared[thread ^ stride];
            __syncthreads();
            bool keep_smaller = ((thread & stride) == 0) == ((thread & size) == 0);
            if (keep_smaller ? other.x < mine.x : other.x > mine.x) mine = other;
        }
    }
    to[blockIdx.x * SORTED + thread] = mine;
}

extern "C" __global__ __launch_bounds__(256)
void compact(const float* __restrict__ from, float limit, unsigned* __restrict__ count,
             float* __restrict__ to, int n) {
    __shared__ unsigned sums[8];
    __shared__ unsigned start;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float x = i < n ? from[i] : limit;
    bool keep = x > limit;
    unsigned ballot = __ballot_sync(FULL, keep);
    if (lane == 0) sums[warp] = __popc(ballot);
    __syncthreads();
    if (warp == 0) {
        unsigned own = lane < 8 ? sums[lane] : 0;
        unsigned sum = own;
        for (int distance = 1; distance < 8; distance *= 2) {
            unsigned other = __shfl_up_sync(FULL, sum, distance);
            if (lane >= distance) sum += other;
        }
        if (lane < 8) sums[lane] = sum - own;
        if (lane == 7) start = atomicAdd(count, sum);
    }
    __syncthreads();
    if (keep) to[start + sums[warp] + __popc(ballot & ((1u << lane) - 1))] = x;
}

extern "C" __global__ __launch_bounds__(256)
void crc32(const unsigned* __restrict__ from_table, const unsigned* __restrict__ words,
           unsigned* __restrict__ to, int rows, int messages) {
    __shared__ unsigned table[256];
    table[threadIdx.x] = from_table[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < messages) {
        unsigned crc = ~0u;
        for (int row = 0; row < rows; row++) {
            unsigned word = words[row * messages + i];
            for (int byte = 0; byte < 4; byte++) {
                crc = table[(crc ^ word) & 255] ^ crc >> 8;
                word >>= 8;
            }
        }
        to[i] = ~crc;
    }
}

constexpr int QUERY = 128;
constexpr int TARGET = 512;

extern "C" __global__ __launch_bounds__(QUERY)
void smith_waterman(const unsigned char* __restrict__ queries,
                    const unsigned char* __restrict__ targets, int* __restrict__ to) {
    __shared__ int scores[QUERY];
    int row = threadIdx.x, pair = blockIdx.x;
    targets += pair * TARGET;
    unsigned char letter = queries[pair * QUERY + row];
    int left = 0, diagonal = 0, best = 0;
    for (int step = 0; step < QUERY + TARGET - 1; step++) {
        scores[row] = left;
        __syncthreads();
        int above = row == 0 ? 0 : scores[row - 1];
        __syncthreads();
        int column = step - row;
        if (column >= 0 && column < TARGET) {
            int score = diagonal + (letter == targets[column] ? 2 : -1);
            left = max(max(score, above - 1), max(left - 1, 0));
            best = max(best, left);
        }
        diagonal = above;
    }
    for (int distance = 16; distance > 0; distance /= 2)
        best = max(best, __shfl_down_sync(FULL, best, distance));
    if (row % 32 == 0) scores[row / 32] = best;
    __syncthreads();
    if (row == 0) {
        for (int i = 1; i < QUERY / 32; i++) best = max(best, scores[i]);
        to[pair] = best;
    }
}

constexpr int COORDINATES = 16;

extern "C" __global__ __launch_bounds__(256)
void kmeans_assign(const float* __restrict__ points, const float* __restrict__ centers,
                   unsigned* __restrict__ labels, int k, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float point[COORDINATES];
    for (int d = 0; d < COORDINATES; d++) point[d] = points[i * COORDINATES + d];
    float least = __int_as_float(0x7f800000);
    int nearest = 0;
    for (int c = 0; c < k; c++) {
        float distance = 0.0f;
        for (int d = 0; d < COORDINATES; d++) {
            float difference = point[d] - centers[c * COORDINATES + d];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    labels[i] = nearest;
}

constexpr int EMBEDDING = 64;

extern "C" __global__ __launch_bounds__(256)
void embedding_bag(const float* __restrict__ table, const unsigned* __restrict__ indices,
                   const unsigned* __restrict__ offsets, float* __restrict__ to, int bags) {
    int column = threadIdx.x;
    int bag = blockIdx.y * blockDim.y + threadIdx.y;
    if (bag < bags) {
        float sum = 0.0f;
        for (int i = offsets[bag]; i < offsets[bag + 1]; i++)
            sum += table[indices[i] * EMBEDDING + column];
        to[bag * EMBEDDING + column] = sum;
    }
}
