// Threads that work together: see benches/kernels/src/teams.rs.

#include <cuda_fp16.h>

// ---- Walsh-Hadamard transform ----

extern "C" __global__ void __launch_bounds__(256)
    walsh_hadamard(const float* __restrict__ from, float* __restrict__ to) {
    __shared__ float tile[1024];
    int thread = threadIdx.x;
    from += blockIdx.x * 1024;
    to += blockIdx.x * 1024;
    float x[4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = from[256 * k + thread];
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if ((k & distance) == 0) {
                float a = x[k], b = x[k | distance];
                x[k] = a + b;
                x[k | distance] = a - b;
            }
        }
    }
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float partner = __shfl_xor_sync(~0u, x[k], distance);
            x[k] = thread & distance ? partner - x[k] : x[k] + partner;
        }
    }
#pragma unroll
    for (int distance = 32; distance < 256; distance *= 2) {
#pragma unroll
        for (int k = 0; k < 4; k++) tile[256 * k + thread] = x[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float partner = tile[256 * k + (thread ^ distance)];
            x[k] = thread & distance ? partner - x[k] : x[k] + partner;
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < 4; k++) to[256 * k + thread] = x[k] * (1.0f / 32.0f);
}

// ---- LAMB optimizer ----

struct Lamb {
    float rate, beta1, beta2, epsilon, decay, correction1, correction2;
};

__device__ float lamb_direction(const Lamb& lamb, float weight, float gradient, float& m, float& v) {
    m = lamb.beta1 * m + (1.0f - lamb.beta1) * gradient;
    v = lamb.beta2 * v + (1.0f - lamb.beta2) * gradient * gradient;
    float step = m * lamb.correction1 / (sqrtf(v * lamb.correction2) + lamb.epsilon);
    return step + lamb.decay * weight;
}

__device__ float squared(float4 v) {
    return v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
}

extern "C" __global__ void __launch_bounds__(256)
    lamb_rows(Lamb lamb, const float4* __restrict__ weights, const float4* __restrict__ gradients,
              const float4* __restrict__ first, const float4* __restrict__ second,
              float4* __restrict__ weights_to, float4* __restrict__ first_to,
              float4* __restrict__ second_to) {
    __shared__ float2 partial[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 weight = weights[i], gradient = gradients[i], m = first[i], v = second[i];
    float4 update;
    update.x = lamb_direction(lamb, weight.x, gradient.x, m.x, v.x);
    update.y = lamb_direction(lamb, weight.y, gradient.y, m.y, v.y);
    update.z = lamb_direction(lamb, weight.z, gradient.z, m.z, v.z);
    update.w = lamb_direction(lamb, weight.w, gradient.w, m.w, v.w);
    first_to[i] = m;
    second_to[i] = v;
    float2 norms = make_float2(squared(weight), squared(update));
    for (int distance = 16; distance > 0; distance /= 2) {
        norms.x += __shfl_xor_sync(~0u, norms.x, distance);
        norms.y += __shfl_xor_sync(~0u, norms.y, distance);
    }
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = norms;
    __syncthreads();
    norms = make_float2(0.0f, 0.0f);
    for (int k = 0; k < 8; k++) {
        norms.x += partial[k].x;
        norms.y += partial[k].y;
    }
    float ratio = norms.x > 0.0f && norms.y > 0.0f ? sqrtf(norms.x / norms.y) : 1.0f;
    float factor = lamb.rate * ratio;
    weight.x -= factor * update.x;
    weight.y -= factor * update.y;
    weight.z -= factor * update.z;
    weight.w -= factor * update.w;
    weights_to[i] = weight;
}

// ---- Quantization to 4 bits, in groups ----

extern "C" __global__ void __launch_bounds__(256)
    pack_int4(const float4* __restrict__ from, unsigned short* __restrict__ to,
              __half* __restrict__ scales, unsigned char* __restrict__ zeros, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = from[i];
    float x[4] = {v.x, v.y, v.z, v.w};
    float lowest = fminf(fminf(x[0], x[1]), fminf(x[2], x[3]));
    float highest = fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3]));
    for (int distance = 16; distance > 0; distance /= 2) {
        lowest = fminf(lowest, __shfl_xor_sync(~0u, lowest, distance));
        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, distance));
    }
    lowest = fminf(lowest, 0.0f);
    highest = fmaxf(highest, 0.0f);
    float scale = fmaxf((highest - lowest) / 15.0f, 1e-8f);
    float zero = rintf(-lowest / scale);
    unsigned packed = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        unsigned q = (unsigned)fminf(fmaxf(rintf(x[k] / scale) + zero, 0.0f), 15.0f);
        packed |= q << (4 * k);
    }
    to[i] = (unsigned short)packed;
    if (threadIdx.x % 32 == 0) {
        scales[i / 32] = __float2half(scale);
        zeros[i / 32] = (unsigned char)zero;
    }
}

// ---- Bit planes ----

extern "C" __global__ void __launch_bounds__(256)
    bit_planes(const unsigned* __restrict__ from, unsigned* __restrict__ to) {
    __shared__ unsigned tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int thread = threadIdx.x, lane = thread % 32;
    unsigned x = from[i];
    unsigned mask = 0x0000ffff;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned y = __shfl_xor_sync(~0u, x, distance);
        x = (lane & distance) == 0 ? (x & mask) | (y & mask) << distance
                                   : (x & ~mask) | (y & ~mask) >> distance;
        mask ^= mask << (distance / 2);
    }
    tile[thread] = x;
    __syncthreads();
    to[i] = tile[thread % 8 * 32 + thread / 8];
}

// ---- Selection by digits ----

__device__ unsigned exclusive_sum_256(unsigned value) {
    __shared__ unsigned sums[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = value;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned other = __shfl_up_sync(~0u, sum, distance);
        if (lane >= distance) sum += other;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    unsigned before = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (k < warp) before += sums[k];
    return before + sum - value;
}

extern "C" __global__ void __launch_bounds__(256)
    kth_largest(const float* __restrict__ from, unsigned k, float* __restrict__ to) {
    __shared__ unsigned bins[256];
    __shared__ unsigned found[2];
    int thread = threadIdx.x;
    unsigned keys[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        unsigned bits = __float_as_uint(from[blockIdx.x * 4096 + 256 * i + thread]);
        keys[i] = bits >> 31 ? ~bits : bits | 0x80000000u;
    }
    unsigned prefix = 0, known = 0, rest = k;
    for (int shift = 24; shift >= 0; shift -= 8) {
        bins[thread] = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++)
            if ((keys[i] & known) == prefix) atomicAdd(&bins[keys[i] >> shift & 255], 1);
        __syncthreads();
        unsigned digit = 255 - thread;
        unsigned count = bins[digit];
        unsigned above = exclusive_sum_256(count);
        if (above < rest && rest <= above + count) {
            found[0] = digit;
            found[1] = rest - above;
        }
        __syncthreads();
        prefix |= found[0] << shift;
        rest = found[1];
        known |= 255u << shift;
    }
    if (thread == 0) to[blockIdx.x] = __uint_as_float(prefix >> 31 ? prefix & 0x7fffffffu : ~prefix);
}

// ---- Star join ----

extern "C" __global__ void __launch_bounds__(256)
    star_join(const unsigned* __restrict__ keys, const unsigned char* __restrict__ groups,
              int dimensions, const unsigned* __restrict__ fact_keys,
              const unsigned* __restrict__ amounts, int facts, unsigned long long* totals) {
    const unsigned long long EMPTY = ~0ull;
    __shared__ unsigned long long slots[2048];
    __shared__ unsigned long long sums[64];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) slots[i] = EMPTY;
    if (threadIdx.x < 64) sums[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < dimensions; i += blockDim.x) {
        unsigned key = keys[i];
        unsigned long long entry = (unsigned long long)key << 32 | groups[i];
        unsigned slot = key * 0x9e3779b1u >> 21;
        while (atomicCAS(&slots[slot], EMPTY, entry) != EMPTY) slot = (slot + 1) % 2048;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < facts; i += gridDim.x * blockDim.x) {
        unsigned key = fact_keys[i];
        unsigned slot = key * 0x9e3779b1u >> 21;
        while (true) {
            unsigned long long entry = slots[slot];
            if (entry == EMPTY) break;
            if (unsigned(entry >> 32) == key) {
                atomicAdd(&sums[unsigned(entry)], (unsigned long long)amounts[i]);
                break;
            }
            slot = (slot + 1) % 2048;
        }
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&totals[threadIdx.x], sums[threadIdx.x]);
}

// ---- Wiener filter ----

extern "C" __global__ void __launch_bounds__(256)
    wiener5(float noise, const float* __restrict__ from, float* __restrict__ to, int width,
            int height) {
    __shared__ float tile[12][36];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int y = threadIdx.y; y < 12; y += 8)
        for (int x = threadIdx.x; x < 36; x += 32) {
            int from_x = min(max(x0 + x - 2, 0), width - 1);
            int from_y = min(max(y0 + y - 2, 0), height - 1);
            tile[y][x] = from[from_y * width + from_x];
        }
    __syncthreads();
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int dy = 0; dy < 5; dy++)
#pragma unroll
        for (int dx = 0; dx < 5; dx++) {
            float pixel = tile[threadIdx.y + dy][threadIdx.x + dx];
            sum += pixel;
            squares += pixel * pixel;
        }
    float mean = sum / 25.0f;
    float variance = squares / 25.0f - mean * mean;
    float gain = fmaxf(variance - noise, 0.0f) / fmaxf(variance, noise);
    to[y * width + x] = mean + gain * (tile[threadIdx.y + 2][threadIdx.x + 2] - mean);
}

// ---- Shallow water ----

struct Water {
    float h, hu, hv;
};

__device__ Water operator+(Water a, Water b) { return {a.h + b.h, a.hu + b.hu, a.hv + b.hv}; }
__device__ Water operator-(Water a, Water b) { return {a.h - b.h, a.hu - b.hu, a.hv - b.hv}; }
__device__ Water operator*(Water a, float b) { return {a.h * b, a.hu * b, a.hv * b}; }

__device__ Water flux_x(Water w) {
    float u = w.hu / w.h, v = w.hv / w.h;
    return {w.hu, w.hu * u + 0.5f * 9.81f * w.h * w.h, w.hu * v};
}

__device__ Water flux_y(Water w) {
    float u = w.hu / w.h, v = w.hv / w.h;
    return {w.hv, w.hv * u, w.hv * v + 0.5f * 9.81f * w.h * w.h};
}

extern "C" __global__ void __launch_bounds__(256)
    shallow_water(float ratio, const Water* __restrict__ from, Water* __restrict__ to, int width,
                  int height) {
    __shared__ Water cells[10][34];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int y = threadIdx.y; y < 10; y += 8)
        for (int x = threadIdx.x; x < 34; x += 32) {
            int from_x = min(max(x0 + x - 1, 0), width - 1);
            int from_y = min(max(y0 + y - 1, 0), height - 1);
            cells[y][x] = from[from_y * width + from_x];
        }
    __syncthreads();
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= width || y >= height) return;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    Water west = cells[ty][tx - 1], east = cells[ty][tx + 1];
    Water north = cells[ty - 1][tx], south = cells[ty + 1][tx];
    Water mean = (west + east + north + south) * 0.25f;
    Water change = (flux_x(east) - flux_x(west)) + (flux_y(south) - flux_y(north));
    to[y * width + x] = mean - change * ratio;
}

// ---- Classification of a sample sort ----

extern "C" __global__ void __launch_bounds__(256)
    sample_classify(const unsigned* __restrict__ tree, const unsigned* __restrict__ keys,
                    unsigned char* __restrict__ buckets, unsigned* __restrict__ counts, int n) {
    __shared__ unsigned nodes[256];
    __shared__ unsigned bins[256];
    int thread = threadIdx.x;
    nodes[thread] = tree[thread];
    bins[thread] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int i = blockIdx.x * 2048 + 256 * k + thread;
        if (i < n) {
            unsigned key = keys[i];
            int node = 1;
#pragma unroll
            for (int level = 0; level < 8; level++) node = 2 * node + (key > nodes[node]);
            int bucket = node - 256;
            atomicAdd(&bins[bucket], 1);
            buckets[i] = (unsigned char)bucket;
        }
    }
    __syncthreads();
    counts[blockIdx.x * 256 + thread] = bins[thread];
}

// ---- Triangular solve ----

extern "C" __global__ void __launch_bounds__(128)
    trsm32(const float* __restrict__ matrices, const float* __restrict__ sides,
           float* __restrict__ to) {
    __shared__ float lower[32][32];
    int column = threadIdx.x;
    const float* matrix = matrices + blockIdx.x * 1024;
    const float* side = sides + blockIdx.x * 32 * 128 + column;
    float* result = to + blockIdx.x * 32 * 128 + column;
#pragma unroll
    for (int k = 0; k < 8; k++) (&lower[0][0])[k * 128 + column] = matrix[k * 128 + column];
    __syncthreads();
    float x[32];
#pragma unroll
    for (int row = 0; row < 32; row++) {
        float sum = side[row * 128];
#pragma unroll
        for (int k = 0; k < row; k++) sum -= lower[row][k] * x[k];
        x[row] = sum / lower[row][row];
        result[row * 128] = x[row];
    }
}

// ---- Complex matrix product ----

extern "C" __global__ void __launch_bounds__(256)
    cgemm(const float2* __restrict__ a, const float2* __restrict__ b, float2* __restrict__ to,
          int width, int height, int depth) {
    __shared__ float2 a_tile[32][32];
    __shared__ float2 b_tile[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y0 = blockIdx.y * 32;
    float2 sums[4] = {};
    for (int k0 = 0; k0 < depth; k0 += 32) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int row = ty + 8 * j;
            a_tile[row][tx] = y0 + row < height && k0 + tx < depth ? a[(y0 + row) * depth + k0 + tx]
                                                                   : make_float2(0.0f, 0.0f);
            b_tile[row][tx] = k0 + row < depth && x < width ? b[(k0 + row) * width + x]
                                                            : make_float2(0.0f, 0.0f);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; k++) {
            float2 q = b_tile[k][tx];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float2 p = a_tile[ty + 8 * j][k];
                sums[j].x += p.x * q.x - p.y * q.y;
                sums[j].y += p.x * q.y + p.y * q.x;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int y = y0 + ty + 8 * j;
        if (x < width && y < height) to[y * width + x] = sums[j];
    }
}

// ---- Distances of histograms ----

extern "C" __global__ void __launch_bounds__(256)
    chi2_matrix(const unsigned short* __restrict__ rows, const unsigned short* __restrict__ columns,
                float* __restrict__ to, int width, int height) {
    __shared__ unsigned short row_tile[16][66];
    __shared__ unsigned short column_tile[16][66];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
    for (int bin = tx; bin < 64; bin += 16) {
        row_tile[ty][bin] = y0 + ty < height ? rows[(y0 + ty) * 64 + bin] : 0;
        column_tile[ty][bin] = x0 + ty < width ? columns[(x0 + ty) * 64 + bin] : 0;
    }
    __syncthreads();
    int x = x0 + tx, y = y0 + ty;
    if (x >= width || y >= height) return;
    float distance = 0.0f;
#pragma unroll 8
    for (int bin = 0; bin < 64; bin++) {
        int a = row_tile[ty][bin], b = column_tile[tx][bin];
        if (a + b != 0) {
            float difference = (float)a - (float)b;
            distance += difference * difference / (float)(a + b);
        }
    }
    to[y * width + x] = distance;
}

// ---- Statistics of batch normalization ----

struct Moments {
    float count, mean, m2;

    __device__ void push(float x) {
        count += 1.0f;
        float delta = x - mean;
        mean += delta / count;
        m2 += delta * (x - mean);
    }

    __device__ void merge(Moments b) {
        float sum = count + b.count;
        if (sum == 0.0f) return;
        float delta = b.mean - mean;
        float part = b.count / sum;
        mean += delta * part;
        m2 += b.m2 + delta * delta * count * part;
        count = sum;
    }
};

extern "C" __global__ void __launch_bounds__(256)
    bn_stats(const float4* __restrict__ images, int batch, int plane, int channels,
             float* __restrict__ means, float* __restrict__ deviations) {
    __shared__ Moments partial[8];
    int channel = blockIdx.x;
    Moments own = {0.0f, 0.0f, 0.0f};
    for (int n = 0; n < batch; n++) {
        const float4* from = images + (n * channels + channel) * plane;
        for (int i = threadIdx.x; i < plane; i += blockDim.x) {
            float4 v = from[i];
            own.push(v.x);
            own.push(v.y);
            own.push(v.z);
            own.push(v.w);
        }
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        Moments other;
        other.count = __shfl_xor_sync(~0u, own.count, distance);
        other.mean = __shfl_xor_sync(~0u, own.mean, distance);
        other.m2 = __shfl_xor_sync(~0u, own.m2, distance);
        own.merge(other);
    }
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 8; k++) own.merge(partial[k]);
        means[channel] = own.mean;
        deviations[channel] = rsqrtf(own.m2 / own.count + 1e-5f);
    }
}

// ---- Linear attention with decay ----

extern "C" __global__ void __launch_bounds__(64)
    retention(const float* __restrict__ decays, const float* __restrict__ queries,
              const float* __restrict__ keys, const float* __restrict__ values,
              float* __restrict__ to) {
    __shared__ float query_tile[16][64];
    __shared__ float key_tile[16][64];
    int column = threadIdx.x;
    float decay = decays[blockIdx.x];
    int start = blockIdx.x * 128 * 64;
    float state[64] = {};
    for (int chunk = start; chunk < start + 128 * 64; chunk += 16 * 64) {
#pragma unroll
        for (int token = 0; token < 16; token++) {
            query_tile[token][column] = queries[chunk + token * 64 + column];
            key_tile[token][column] = keys[chunk + token * 64 + column];
        }
        __syncthreads();
        for (int token = 0; token < 16; token++) {
            float value = values[chunk + token * 64 + column];
            float sum = 0.0f;
#pragma unroll
            for (int i = 0; i < 64; i++) {
                state[i] = decay * state[i] + key_tile[token][i] * value;
                sum += query_tile[token][i] * state[i];
            }
            to[chunk + token * 64 + column] = sum;
        }
        __syncthreads();
    }
}

// ---- Dispatch to experts ----

extern "C" __global__ void __launch_bounds__(256)
    expert_dispatch(unsigned capacity, const unsigned char* __restrict__ experts,
                    unsigned* __restrict__ lists, unsigned* __restrict__ totals, int n) {
    __shared__ unsigned counts[64];
    int thread = threadIdx.x, lane = thread % 32;
    int first = blockIdx.x * 1024 + thread;
    if (thread < 64) counts[thread] = 0;
    __syncthreads();
    unsigned places[4], chosen[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int token = first + 256 * k;
        chosen[k] = token < n ? experts[token] : ~0u;
        unsigned peers = __match_any_sync(~0u, chosen[k]);
        int leader = __ffs(peers) - 1;
        unsigned start = 0;
        if (chosen[k] != ~0u && lane == leader) start = atomicAdd(&counts[chosen[k]], __popc(peers));
        start = __shfl_sync(~0u, start, leader);
        places[k] = start + __popc(peers & ((1u << lane) - 1));
    }
    __syncthreads();
    if (thread < 64) counts[thread] = atomicAdd(&totals[thread], counts[thread]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (chosen[k] != ~0u) {
            unsigned place = counts[chosen[k]] + places[k];
            if (place < capacity) lists[chosen[k] * capacity + place] = first + 256 * k;
        }
    }
}

// ---- Adaptive integration ----

__device__ double chirp(double parameter, double x) { return sin(parameter / (x + 0.1)) * exp(-x); }

extern "C" __global__ void __launch_bounds__(128)
    adaptive_simpson(double tolerance, const double* __restrict__ parameters,
                     double* __restrict__ to) {
    __shared__ unsigned queues[2][1024];
    __shared__ int counts[4];
    __shared__ double sums[4];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    double parameter = parameters[blockIdx.x];
    int depth = 4, waiting = 16, side = 0;
    if (thread < waiting) queues[0][thread] = thread;
    __syncthreads();
    double sum = 0.0;
    while (waiting > 0) {
        int pushed = 0;
        for (int first = 0; first < waiting; first += 128) {
            bool splits = false;
            unsigned number = 0;
            if (first + thread < waiting) {
                number = queues[side][first + thread];
                double width = 1.0 / (1 << depth);
                double start = number * width;
                double y[5];
#pragma unroll
                for (int k = 0; k < 5; k++) y[k] = chirp(parameter, start + width * 0.25 * k);
                double coarse = width / 6.0 * (y[0] + 4.0 * y[2] + y[4]);
                double fine =
                    width / 12.0 * (y[0] + 4.0 * y[1] + 2.0 * y[2] + 4.0 * y[3] + y[4]);
                double error = (fine - coarse) / 15.0;
                if (fabs(error) <= tolerance * width || depth == 14)
                    sum += fine + error;
                else
                    splits = true;
            }
            unsigned votes = __ballot_sync(~0u, splits);
            if (lane == 0) counts[warp] = __popc(votes);
            __syncthreads();
            int place = __popc(votes & ((1u << lane) - 1)), count = 0;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (k == warp) place += count;
                count += counts[k];
            }
            if (splits) {
                queues[side ^ 1][pushed + 2 * place] = 2 * number;
                queues[side ^ 1][pushed + 2 * place + 1] = 2 * number + 1;
            }
            pushed += 2 * count;
            __syncthreads();
        }
        side ^= 1;
        waiting = pushed;
        depth++;
    }
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(~0u, sum, distance);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (thread == 0) to[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

// ---- Run-length encoding ----

extern "C" __global__ void __launch_bounds__(256)
    rle_encode(const unsigned char* __restrict__ bytes, unsigned char* __restrict__ values,
               unsigned short* __restrict__ lengths, unsigned* __restrict__ counts) {
    __shared__ unsigned starts[1025];
    __shared__ unsigned total;
    int thread = threadIdx.x;
    const unsigned char* chunk = bytes + blockIdx.x * 1024;
    uchar4 own = reinterpret_cast<const uchar4*>(chunk)[thread];
    bool heads[4] = {thread == 0 || chunk[4 * thread - 1] != own.x, own.y != own.x, own.z != own.y,
                     own.w != own.z};
    unsigned place = exclusive_sum_256(heads[0] + heads[1] + heads[2] + heads[3]);
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (heads[k]) starts[place++] = 4 * thread + k;
    if (thread == 255) {
        starts[place] = 1024;
        total = place;
    }
    __syncthreads();
    int runs = total;
    for (int run = thread; run < runs; run += 256) {
        unsigned from = starts[run], to = starts[run + 1];
        values[blockIdx.x * 1024 + run] = chunk[from];
        lengths[blockIdx.x * 1024 + run] = (unsigned short)(to - from);
    }
    if (thread == 0) counts[blockIdx.x] = runs;
}

// ---- Tables of adaptive histogram equalization ----

extern "C" __global__ void __launch_bounds__(256)
    clahe_tables(unsigned limit, const unsigned char* __restrict__ image, int width,
                 unsigned char* __restrict__ tables) {
    __shared__ unsigned bins[256];
    __shared__ unsigned excess;
    int thread = threadIdx.x;
    int tiles = width / 64;
    int x = blockIdx.x % tiles * 64 + thread % 64;
    int y = blockIdx.x / tiles * 64 + thread / 64;
    bins[thread] = 0;
    if (thread == 0) excess = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; k++) atomicAdd(&bins[image[(y + 4 * k) * width + x]], 1);
    __syncthreads();
    unsigned count = bins[thread];
    unsigned clipped = min(count, limit);
    unsigned above = __reduce_add_sync(~0u, count - clipped);
    if (thread % 32 == 0) atomicAdd(&excess, above);
    __syncthreads();
    unsigned share = excess / 256 + (thread < excess % 256);
    unsigned sum = exclusive_sum_256(clipped + share) + clipped + share;
    tables[blockIdx.x * 256 + thread] = (unsigned char)fminf(sum * (255.0f / 4096.0f), 255.0f);
}

// ---- Sizes of a sparse matrix product ----

extern "C" __global__ void __launch_bounds__(128)
    spgemm_symbolic(const unsigned* __restrict__ a_offsets, const unsigned* __restrict__ a_columns,
                    const unsigned* __restrict__ b_offsets, const unsigned* __restrict__ b_columns,
                    unsigned* __restrict__ to, int rows) {
    __shared__ unsigned sets[4][512];
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    unsigned* set = sets[threadIdx.x / 32];
    for (int i = lane; i < 512; i += 32) set[i] = ~0u;
    __syncwarp();
    if (row >= rows) return;
    unsigned count = 0;
    for (unsigned j = a_offsets[row]; j < a_offsets[row + 1]; j++) {
        unsigned middle = a_columns[j];
        unsigned end = b_offsets[middle + 1];
        for (unsigned i = b_offsets[middle] + lane; i < end; i += 32) {
            unsigned column = b_columns[i];
            unsigned slot = column * 0x9e3779b1u % 512;
            while (true) {
                unsigned other = atomicCAS(&set[slot], ~0u, column);
                if (other == ~0u) count++;
                if (other == ~0u || other == column) break;
                slot = (slot + 1) % 512;
            }
        }
    }
    unsigned total = __reduce_add_sync(~0u, count);
    if (lane == 0) to[row] = total;
}

// ---- Compensated dot product ----

struct Twofold {
    float value, error;
};

__device__ Twofold operator+(Twofold a, Twofold b) {
    float value = a.value + b.value;
    float part = value - a.value;
    float error = (a.value - (value - part)) + (b.value - part);
    return {value, a.error + b.error + error};
}

extern "C" __global__ void __launch_bounds__(256)
    dot_twofold(const float* __restrict__ a, const float* __restrict__ b, int n,
                double* __restrict__ to) {
    __shared__ Twofold partial[8];
    Twofold sum = {0.0f, 0.0f};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = a[i], y = b[i];
        float value = __fmul_rn(x, y);
        sum = sum + Twofold{value, fmaf(x, y, -value)};
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        Twofold other;
        other.value = __shfl_xor_sync(~0u, sum.value, distance);
        other.error = __shfl_xor_sync(~0u, sum.error, distance);
        sum = sum + other;
    }
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 8; k++) sum = sum + partial[k];
        to[blockIdx.x] = (double)sum.value + sum.error;
    }
}

// ---- Linear recurrence ----

struct Affine {
    float factor, offset;

    __device__ float apply(float x) const { return factor * x + offset; }
    __device__ Affine then(Affine next) const { return {factor * next.factor, next.apply(offset)}; }
};

extern "C" __global__ void __launch_bounds__(256)
    recurrence_scan(const float4* __restrict__ a, const float4* __restrict__ b,
                    float4* __restrict__ to) {
    __shared__ Affine warps[8];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    float x = 0.0f;
    for (int chunk = 0; chunk < 4; chunk++) {
        int i = blockIdx.x * 1024 + 256 * chunk + thread;
        float4 p = a[i], q = b[i];
        Affine own = Affine{p.x, q.x}.then({p.y, q.y}).then({p.z, q.z}).then({p.w, q.w});
        Affine up_to = own;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
            Affine other;
            other.factor = __shfl_up_sync(~0u, up_to.factor, distance);
            other.offset = __shfl_up_sync(~0u, up_to.offset, distance);
            if (lane >= distance) up_to = other.then(up_to);
        }
        if (lane == 31) warps[warp] = up_to;
        Affine before;
        before.factor = __shfl_up_sync(~0u, up_to.factor, 1);
        before.offset = __shfl_up_sync(~0u, up_to.offset, 1);
        if (lane == 0) before = {1.0f, 0.0f};
        __syncthreads();
        float start = x;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (k == warp) start = x;
            x = warps[k].apply(x);
        }
        float4 result;
        result.x = p.x * before.apply(start) + q.x;
        result.y = p.y * result.x + q.y;
        result.z = p.z * result.y + q.z;
        result.w = p.w * result.z + q.w;
        to[i] = result;
        __syncthreads();
    }
}

// ---- Sandpile ----

extern "C" __global__ void __launch_bounds__(256)
    sandpile(const unsigned short* __restrict__ from, unsigned short* __restrict__ to, int width,
             int height) {
    __shared__ unsigned short cells[2][40][40];
    int x0 = blockIdx.x * 32 - 4, y0 = blockIdx.y * 32 - 4;
    for (int y = threadIdx.y; y < 40; y += 8)
        for (int x = threadIdx.x; x < 40; x += 32) {
            bool inside = x0 + x >= 0 && x0 + x < width && y0 + y >= 0 && y0 + y < height;
            cells[0][y][x] = inside ? from[(y0 + y) * width + x0 + x] : 0;
        }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 4; step++) {
        auto current = cells[step % 2], next = cells[(step + 1) % 2];
        for (int y = threadIdx.y; y < 40; y += 8)
            for (int x = threadIdx.x; x < 40; x += 32) {
                bool inside = x0 + x >= 0 && x0 + x < width && y0 + y >= 0 && y0 + y < height;
                unsigned grains = 0;
                if (inside) {
                    grains = current[y][x] % 4;
                    if (x > 0) grains += current[y][x - 1] / 4;
                    if (x < 39) grains += current[y][x + 1] / 4;
                    if (y > 0) grains += current[y - 1][x] / 4;
                    if (y < 39) grains += current[y + 1][x] / 4;
                }
                next[y][x] = (unsigned short)grains;
            }
        __syncthreads();
    }
    for (int y = 4 + threadIdx.y; y < 36; y += 8) {
        int x = 4 + threadIdx.x;
        if (x0 + x < width && y0 + y < height) to[(y0 + y) * width + x0 + x] = cells[0][y][x];
    }
}

// ---- Join with a Bloom filter ----

__device__ unsigned next_bit(unsigned long long& state) {
    state = (state ^ state >> 29) * 0xbf58476d1ce4e5b9ull;
    return unsigned(state >> 40) % (32 * 512);
}

extern "C" __global__ void __launch_bounds__(256)
    bloom_join(const unsigned long long* __restrict__ build,
               const unsigned long long* __restrict__ probe, unsigned* __restrict__ to) {
    __shared__ unsigned filter[512];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    filter[thread] = 0;
    filter[256 + thread] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        unsigned long long state = build[blockIdx.x * 1024 + 256 * k + thread];
#pragma unroll
        for (int j = 0; j < 3; j++) {
            unsigned bit = next_bit(state);
            atomicOr(&filter[bit / 32], 1u << (bit % 32));
        }
    }
    __syncthreads();
    unsigned votes = 0;
#pragma unroll 4
    for (int k = 0; k < 16; k++) {
        unsigned long long state = probe[blockIdx.x * 4096 + 512 * warp + 32 * k + lane];
        bool contained = true;
#pragma unroll
        for (int j = 0; j < 3; j++) {
            unsigned bit = next_bit(state);
            contained &= filter[bit / 32] >> (bit % 32) & 1;
        }
        unsigned vote = __ballot_sync(~0u, contained);
        if (lane == k) votes = vote;
    }
    if (lane < 16) to[blockIdx.x * 128 + 16 * warp + lane] = votes;
}

// ---- Graph coloring ----

__device__ unsigned priority(unsigned node) { return (node ^ node >> 15) * 0x2c1b3c6du; }

extern "C" __global__ void __launch_bounds__(256)
    color_round(const unsigned* __restrict__ offsets, const unsigned* __restrict__ neighbors,
                const unsigned char* __restrict__ colors, unsigned* __restrict__ to, int n) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int node = thread / 8, lane = thread % 8;
    if (node >= n) return;
    unsigned mask = 0xffu << (thread % 32 - lane);
    unsigned color = colors[node];
    if (color == 255) {
        unsigned long long used = 0;
        bool waits = false;
        unsigned end = offsets[node + 1];
        for (unsigned i = offsets[node] + lane; i < end; i += 8) {
            unsigned neighbor = neighbors[i];
            unsigned other = colors[neighbor];
            if (other != 255) {
                used |= 1ull << (other & 63);
            } else if (priority(neighbor) > priority(node)) {
                waits = true;
                break;
            }
        }
        if (!__any_sync(mask, waits)) {
            for (int distance = 4; distance > 0; distance /= 2)
                used |= __shfl_xor_sync(mask, used, distance);
            color = __ffsll(~used) - 1;
        }
    }
    if (lane == 0) to[node] = color;
}

// ---- Prefix hashes ----

typedef unsigned long long u64;

__device__ u64 reduced61(u64 x) {
    const u64 PRIME = (1ull << 61) - 1;
    return x >= PRIME ? x - PRIME : x;
}

__device__ u64 mul61(u64 a, u64 b) {
    const u64 PRIME = (1ull << 61) - 1;
    unsigned __int128 product = (unsigned __int128)a * b;
    return reduced61(((u64)product & PRIME) + (u64)(product >> 61));
}

struct Hash {
    u64 power, hash;

    __device__ Hash concat(Hash next) const {
        return {mul61(power, next.power), reduced61(mul61(hash, next.power) + next.hash)};
    }
};

__device__ Hash hash_of(unsigned char byte) { return {0x0f1e2d3c4b5a6978ull, byte + 1ull}; }

extern "C" __global__ void __launch_bounds__(256)
    prefix_hash(const uchar4* __restrict__ text, u64* __restrict__ to) {
    __shared__ Hash warps[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uchar4 word = text[i];
    Hash own = hash_of(word.x).concat(hash_of(word.y)).concat(hash_of(word.z)).concat(hash_of(word.w));
    Hash up_to = own;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        Hash other;
        other.power = __shfl_up_sync(~0u, up_to.power, distance);
        other.hash = __shfl_up_sync(~0u, up_to.hash, distance);
        if (lane >= distance) up_to = other.concat(up_to);
    }
    if (lane == 31) warps[warp] = up_to;
    Hash before;
    before.power = __shfl_up_sync(~0u, up_to.power, 1);
    before.hash = __shfl_up_sync(~0u, up_to.hash, 1);
    if (lane == 0) before = {1, 0};
    __syncthreads();
    Hash prefix = {1, 0};
    for (int k = 0; k < warp; k++) prefix = prefix.concat(warps[k]);
    prefix = prefix.concat(before);
    prefix = prefix.concat(hash_of(word.x));
    to[4 * i] = prefix.hash;
    prefix = prefix.concat(hash_of(word.y));
    to[4 * i + 1] = prefix.hash;
    prefix = prefix.concat(hash_of(word.z));
    to[4 * i + 2] = prefix.hash;
    prefix = prefix.concat(hash_of(word.w));
    to[4 * i + 3] = prefix.hash;
}

// ---- Kullback-Leibler divergence ----

struct LogSum {
    float max, sum;

    __device__ void merge(LogSum b) {
        float larger = fmaxf(max, b.max);
        sum = sum * expf(max - larger) + b.sum * expf(b.max - larger);
        max = larger;
    }
};

extern "C" __global__ void __launch_bounds__(128)
    kl_rows(const __half2* __restrict__ teacher, const __half2* __restrict__ student,
            float* __restrict__ to, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float logits[2][32];
    float sums[2];
#pragma unroll
    for (int side = 0; side < 2; side++) {
        const __half2* from = (side == 0 ? teacher : student) + row * 512 + lane;
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float2 pair = __half22float2(from[32 * k]);
            logits[side][2 * k] = pair.x;
            logits[side][2 * k + 1] = pair.y;
        }
        LogSum own = {logits[side][0], 1.0f};
#pragma unroll
        for (int k = 1; k < 32; k++) own.merge({logits[side][k], 1.0f});
        for (int distance = 16; distance > 0; distance /= 2) {
            LogSum other;
            other.max = __shfl_xor_sync(~0u, own.max, distance);
            other.sum = __shfl_xor_sync(~0u, own.sum, distance);
            own.merge(other);
        }
        sums[side] = own.max + logf(own.sum);
    }
    float divergence = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; k++) {
        float p = logits[0][k] - sums[0], q = logits[1][k] - sums[1];
        divergence += expf(p) * (p - q);
    }
    for (int distance = 16; distance > 0; distance /= 2)
        divergence += __shfl_xor_sync(~0u, divergence, distance);
    if (lane == 0) to[row] = divergence;
}

// ---- Wave equation ----

extern "C" __global__ void __launch_bounds__(256)
    wave_march(float speed, const float* __restrict__ current, const float* __restrict__ previous,
               float* __restrict__ to, int width, int height, int depth) {
    const float CENTER = -2.5f, NEAR = 4.0f / 3.0f, FAR = -1.0f / 12.0f;
    __shared__ float layer[12][36];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    int x = x0 + tx, y = y0 + ty;
    bool inside = x < width && y < height;
    float column[5] = {};
#pragma unroll
    for (int k = 0; k < 3; k++)
        if (inside && k < depth) column[k + 2] = current[(k * height + y) * width + x];
    for (int z = 0; z < depth; z++) {
        for (int j = ty; j < 12; j += 8)
            for (int i = tx; i < 36; i += 32) {
                int from_x = x0 + i - 2, from_y = y0 + j - 2;
                bool exists = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
                layer[j][i] = exists ? current[(z * height + from_y) * width + from_x] : 0.0f;
            }
        __syncthreads();
        if (inside) {
            int i = tx + 2, j = ty + 2;
            float far = layer[j][i - 2] + layer[j][i + 2] + layer[j - 2][i] + layer[j + 2][i];
            float near = layer[j][i - 1] + layer[j][i + 1] + layer[j - 1][i] + layer[j + 1][i];
            float laplacian = FAR * (far + column[0] + column[4]) +
                              NEAR * (near + column[1] + column[3]) + 3.0f * CENTER * column[2];
            int at = (z * height + y) * width + x;
            to[at] = 2.0f * column[2] - previous[at] + speed * laplacian;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) column[k] = column[k + 1];
        column[4] = inside && z + 3 < depth ? current[((z + 3) * height + y) * width + x] : 0.0f;
        __syncthreads();
    }
}

// ---- Aggregates of groups ----

const long long NULL_VALUE = (long long)(1ull << 63);

__device__ long long combine(long long code, long long a, long long b) {
    if (a == NULL_VALUE) return b;
    if (b == NULL_VALUE) return a;
    switch (code) {
        case 2: return min(a, b);
        case 3: return max(a, b);
        default: return a + b;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    aggregate_groups(const long long* __restrict__ functions, int columns,
                     const unsigned* __restrict__ offsets, int groups,
                     const long long* __restrict__ values, int rows, long long* __restrict__ to) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int column = warp / groups, group = warp % groups;
    if (column >= columns) return;
    long long code = functions[2 * column], argument = functions[2 * column + 1];
    const long long* start = values + column * rows;
    unsigned end = offsets[group + 1];
    long long own = NULL_VALUE;
    for (unsigned i = offsets[group] + lane; i < end; i += 32) {
        long long x = start[i];
        if (x == NULL_VALUE) continue;
        if (code == 0) x = 1;
        if (code == 4) x = x > argument;
        own = combine(code, own, x);
    }
    for (int distance = 16; distance > 0; distance /= 2)
        own = combine(code, own, __shfl_xor_sync(~0u, own, distance));
    if (lane == 0) to[warp] = own;
}

// ---- Gram-Schmidt ----

__device__ float warp_sum(float x) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
    return x;
}

extern "C" __global__ void __launch_bounds__(128)
    gram_schmidt(const float* __restrict__ from, float* __restrict__ to, int matrices) {
    int matrix = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (matrix >= matrices) return;
    from += matrix * 512 + lane;
    to += matrix * 512 + lane;
    float row[16];
#pragma unroll
    for (int k = 0; k < 16; k++) row[k] = from[32 * k];
#pragma unroll
    for (int column = 0; column < 16; column++) {
        row[column] *= rsqrtf(warp_sum(row[column] * row[column]));
#pragma unroll
        for (int k = column + 1; k < 16; k++)
            row[k] -= warp_sum(row[column] * row[k]) * row[column];
    }
#pragma unroll
    for (int k = 0; k < 16; k++) to[32 * k] = row[k];
}
