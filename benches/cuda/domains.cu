#include <cstdint>
#include <cuda_fp16.h>

__constant__ double KRUEGER[6] = {
    8.377318206244698e-4,  7.608527773572307e-7,  1.197645503329453e-9,
    2.429170607201359e-12, 5.711757677865804e-15, 1.4911177312583895e-17,
};

extern "C" __global__ void __launch_bounds__(256)
utm_project(const double* __restrict__ lat, const double* __restrict__ lon,
            double2* __restrict__ to, int n) {
    const double A = 6367449.145823415, E = 0.08181919084262149, K0 = 0.9996;
    const double RAD = 0.017453292519943295;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double latitude = lat[i], longitude = lon[i];
    double zone = fmin(floor((longitude + 180.0) / 6.0), 59.0);
    double meridian = zone * 6.0 - 177.0;
    double sine = sin(latitude * RAD);
    double t = sinh(atanh(sine) - E * atanh(E * sine));
    double s, c;
    sincos((longitude - meridian) * RAD, &s, &c);
    double xi = atan2(t, c);
    double eta = asinh(s / hypot(t, c));
    double east = eta, north = xi;
    for (int j = 0; j < 6; j++) {
        double m = 2.0 * (j + 1);
        sincos(m * xi, &s, &c);
        east += KRUEGER[j] * c * sinh(m * eta);
        north += KRUEGER[j] * s * cosh(m * eta);
    }
    double offset = latitude < 0.0 ? 1e7 : 0.0;
    to[i] = make_double2(5e5 + K0 * A * east, offset + K0 * A * north);
}

template <int D>
__device__ __forceinline__ uint64_t shifted(uint64_t x) {
    const uint64_t NOT_A = 0xfefefefefefefefeull, NOT_H = 0x7f7f7f7f7f7f7f7full;
    switch (D) {
        case 0: return (x << 1) & NOT_A;
        case 1: return (x >> 1) & NOT_H;
        case 2: return x << 8;
        case 3: return x >> 8;
        case 4: return (x << 9) & NOT_A;
        case 5: return (x << 7) & NOT_H;
        case 6: return (x >> 7) & NOT_A;
        default: return (x >> 9) & NOT_H;
    }
}

template <int D>
__device__ __forceinline__ uint64_t moves_along(uint64_t own, uint64_t other) {
    uint64_t line = shifted<D>(own) & other;
    for (int k = 0; k < 5; k++) line |= shifted<D>(line) & other;
    return shifted<D>(line);
}

template <int D>
__device__ __forceinline__ uint64_t flips_along(uint64_t start, uint64_t own, uint64_t other) {
    uint64_t line = 0, at = shifted<D>(start);
    while (at & other) {
        line |= at;
        at = shifted<D>(at);
    }
    return at & own ? line : 0;
}

extern "C" __global__ void __launch_bounds__(128)
reversi_moves(const uint64_t* __restrict__ mine, const uint64_t* __restrict__ theirs,
              uint32_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t a = mine[i], b = theirs[i];
    uint64_t moves = moves_along<0>(a, b) | moves_along<1>(a, b) | moves_along<2>(a, b) |
                     moves_along<3>(a, b) | moves_along<4>(a, b) | moves_along<5>(a, b) |
                     moves_along<6>(a, b) | moves_along<7>(a, b);
    moves &= ~(a | b);
    uint32_t best = 0;
    while (moves) {
        uint32_t square = __ffsll(moves) - 1;
        moves &= moves - 1;
        uint64_t s = 1ull << square;
        uint64_t all = flips_along<0>(s, a, b) | flips_along<1>(s, a, b) | flips_along<2>(s, a, b) |
                       flips_along<3>(s, a, b) | flips_along<4>(s, a, b) | flips_along<5>(s, a, b) |
                       flips_along<6>(s, a, b) | flips_along<7>(s, a, b);
        best = max(best, __popcll(all) * 64 + square);
    }
    to[i] = best;
}

extern "C" __global__ void __launch_bounds__(128)
dense_dijkstra(const uint16_t* __restrict__ weights, uint32_t* __restrict__ to) {
    const int NODES = 128;
    const uint32_t FAR = 0xffffffffu >> 8;
    __shared__ uint32_t parts[2][4];
    int me = threadIdx.x;
    const uint16_t* graph = weights + (size_t)blockIdx.x * NODES * NODES;
    uint32_t distance = me == 0 ? 0 : FAR;
    bool settled = false;
    for (int step = 0; step < NODES; step++) {
        uint32_t mine = settled ? 0xffffffffu : (distance << 7 | me);
        uint32_t least = __reduce_min_sync(0xffffffffu, mine);
        uint32_t* half = parts[step & 1];
        if (me % 32 == 0) half[me / 32] = least;
        __syncthreads();
        uint32_t nearest = min(min(half[0], half[1]), min(half[2], half[3]));
        if (nearest >> 7 >= FAR) break;
        int node = nearest % NODES;
        settled |= node == me;
        uint32_t weight = graph[node * NODES + me];
        if (weight) distance = min(distance, (nearest >> 7) + weight);
    }
    to[blockIdx.x * NODES + me] = distance;
}

extern "C" __global__ void __launch_bounds__(256)
window_entropy(const uchar4* __restrict__ data, float* __restrict__ to, int windows) {
    __shared__ unsigned all[8][256];
    int lane = threadIdx.x % 32;
    unsigned* bins = all[threadIdx.x / 32];
    int warps = gridDim.x * 8;
    for (int w = (blockIdx.x * 256 + threadIdx.x) / 32; w < windows; w += warps) {
        const uchar4* window = data + w * 256;
        for (int i = lane; i < 256; i += 32) bins[i] = 0;
        __syncwarp();
        for (int i = lane; i < 256; i += 32) {
            uchar4 v = window[i];
            atomicAdd(&bins[v.x], 1);
            atomicAdd(&bins[v.y], 1);
            atomicAdd(&bins[v.z], 1);
            atomicAdd(&bins[v.w], 1);
        }
        __syncwarp();
        float entropy = 0.0f;
        for (int i = lane; i < 256; i += 32) {
            float p = bins[i] / 1024.0f;
            if (p > 0.0f) entropy -= p * log2f(p);
        }
        for (int d = 16; d > 0; d /= 2) entropy += __shfl_xor_sync(0xffffffffu, entropy, d);
        __syncwarp();
        if (lane == 0) to[w] = entropy;
    }
}

__device__ __forceinline__ int hex_digit(unsigned char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

__device__ const unsigned char* parse_angle(const unsigned char* p, const unsigned char* end, int* to) {
    int number = 0, decimals = -1;
    while (p < end && *p != ',') {
        unsigned char c = *p++;
        if (c >= '0' && c <= '9') {
            number = number * 10 + (c - '0');
            if (decimals >= 0) decimals++;
        } else if (c == '.' && decimals < 0) {
            decimals = 0;
        } else {
            return nullptr;
        }
    }
    if (decimals != 4 || p == end) return nullptr;
    p++;
    if (p == end) return nullptr;
    int angle = number / 1000000 * 600000 + number % 1000000;
    unsigned char c = *p++;
    if (c == 'N' || c == 'E') *to = angle;
    else if (c == 'S' || c == 'W') *to = -angle;
    else return nullptr;
    if (p < end && *p != ',') return nullptr;
    return p;
}

__device__ bool parse_fix(const unsigned char* p, const unsigned char* end, int2* to) {
    if (p == end || *p != '$') return false;
    p++;
    const unsigned char* star = p;
    int sum = 0;
    while (star < end && *star != '*') sum ^= *star++;
    if (end - star != 3) return false;
    int high = hex_digit(star[1]), low = hex_digit(star[2]);
    if (high < 0 || low < 0 || sum != (high << 4 | low)) return false;
    const unsigned char* name = p;
    while (p < star && *p != ',') p++;
    if (p - name < 3 || p[-3] != 'G' || p[-2] != 'G' || p[-1] != 'A' || p == star) return false;
    p++;
    while (p < star && *p != ',') p++;
    if (p == star) return false;
    p = parse_angle(p + 1, star, &to->x);
    if (!p || p == star) return false;
    return parse_angle(p + 1, star, &to->y) != nullptr;
}

extern "C" __global__ void __launch_bounds__(256)
nmea_fix(const unsigned char* __restrict__ text, const uint32_t* __restrict__ starts,
         int2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int2 both;
    bool valid = parse_fix(text + starts[i], text + starts[i + 1], &both);
    to[i] = valid ? both : make_int2(INT32_MIN, INT32_MIN);
}

extern "C" __global__ void __launch_bounds__(256)
cigar_spans(const unsigned char* __restrict__ text, const uint32_t* __restrict__ starts,
            uint4* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* p = text + starts[i];
    const unsigned char* end = text + starts[i + 1];
    uint4 all = make_uint4(0, 0, 0, 0);
    bool valid = true;
    while (p < end && valid) {
        unsigned length = 0;
        while (p < end && *p >= '0' && *p <= '9') length = length * 10 + (*p++ - '0');
        if (p == end) {
            valid = false;
            break;
        }
        switch (*p++) {
            case 'M': case '=': case 'X': all.x += length; all.y += length; break;
            case 'I': all.y += length; all.z++; break;
            case 'D': case 'N': all.x += length; all.z++; break;
            case 'S': all.y += length; all.w += length; break;
            case 'H': case 'P': break;
            default: valid = false;
        }
    }
    to[i] = valid ? all : make_uint4(0, 0, 0, 0);
}

extern "C" __global__ void __launch_bounds__(256)
one_edit(const unsigned char* __restrict__ typed, const uint32_t* __restrict__ typed_starts,
         const unsigned char* __restrict__ known, const uint32_t* __restrict__ known_starts,
         uint32_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = typed_starts[i], a_end = typed_starts[i + 1];
    int b = known_starts[i], b_end = known_starts[i + 1];
    while (a < a_end && b < b_end && typed[a] == known[b]) a++, b++;
    while (a < a_end && b < b_end && typed[a_end - 1] == known[b_end - 1]) a_end--, b_end--;
    int p = a_end - a, q = b_end - b;
    int result = 5;
    if (p == 0 && q == 0) result = 0;
    else if (p == 1 && q == 1) result = 1;
    else if (p == 0 && q == 1) result = 2;
    else if (p == 1 && q == 0) result = 3;
    else if (p == 2 && q == 2 && typed[a] == known[b + 1] && typed[a + 1] == known[b]) result = 4;
    to[i] = result;
}

__constant__ uint64_t ROUND_CONSTANTS[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

__device__ __forceinline__ uint64_t rotl64(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

extern "C" __global__ void __launch_bounds__(128)
keccak_chain(const ulonglong4_16a* __restrict__ seeds, uint32_t length, ulonglong4_16a* __restrict__ to,
             int n) {
    const int ROTATIONS[24] = {1,  3,  6,  10, 15, 21, 28, 36, 45, 55, 2,  14,
                               27, 41, 56, 8,  25, 43, 62, 18, 39, 61, 20, 44};
    const int LANES[24] = {10, 7,  11, 17, 18, 3, 5,  16, 8,  21, 24, 4,
                           15, 23, 19, 13, 12, 2, 20, 14, 22, 9,  6,  1};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    ulonglong4_16a hash = seeds[i];
    for (uint32_t l = 0; l < length; l++) {
        uint64_t s[25] = {hash.x, hash.y, hash.z, hash.w, 0x06};
        s[16] = 1ull << 63;
        for (int round = 0; round < 24; round++) {
            uint64_t c[5];
#pragma unroll
            for (int x = 0; x < 5; x++) c[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
#pragma unroll
            for (int x = 0; x < 5; x++) {
                uint64_t t = c[(x + 4) % 5] ^ rotl64(c[(x + 1) % 5], 1);
#pragma unroll
                for (int y = 0; y < 5; y++) s[5 * y + x] ^= t;
            }
            uint64_t last = s[1];
#pragma unroll
            for (int k = 0; k < 24; k++) {
                uint64_t next = s[LANES[k]];
                s[LANES[k]] = rotl64(last, ROTATIONS[k]);
                last = next;
            }
#pragma unroll
            for (int y = 0; y < 5; y++) {
#pragma unroll
                for (int x = 0; x < 5; x++) c[x] = s[5 * y + x];
#pragma unroll
                for (int x = 0; x < 5; x++) s[5 * y + x] = c[x] ^ (~c[(x + 1) % 5] & c[(x + 2) % 5]);
            }
            s[0] ^= ROUND_CONSTANTS[round];
        }
        hash = make_ulonglong4_16a(s[0], s[1], s[2], s[3]);
    }
    to[i] = hash;
}

struct Mat4 {
    float m[4][4];
};

__device__ __forceinline__ Mat4 operator*(const Mat4& a, const Mat4& b) {
    Mat4 c;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float sum = 0.0f;
#pragma unroll
            for (int k = 0; k < 4; k++) sum += a.m[i][k] * b.m[k][j];
            c.m[i][j] = sum;
        }
    return c;
}

__device__ __forceinline__ Mat4 rotation(float angle) {
    float s, c;
    sincosf(2.0f * angle, &s, &c);
    return {{{1, 0, 0, 0}, {0, c, s, 0}, {0, -s, c, 0}, {0, 0, 0, 1}}};
}

__device__ __forceinline__ Mat4 mueller(uint32_t kind, float value, float wavelength) {
    switch (kind) {
        case 0: {
            float a = 0.5f * (1.0f + value), b = 0.5f * (1.0f - value), c = sqrtf(value);
            return {{{a, b, 0, 0}, {b, a, 0, 0}, {0, 0, c, 0}, {0, 0, 0, c}}};
        }
        case 1: {
            float s, c;
            sincosf(value / wavelength, &s, &c);
            return {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, c, s}, {0, 0, -s, c}}};
        }
        case 2: {
            float d = 1.0f - value;
            return {{{1, 0, 0, 0}, {0, d, 0, 0}, {0, 0, d, 0}, {0, 0, 0, d}}};
        }
        default:
            return {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}}};
    }
}

extern "C" __global__ void __launch_bounds__(256)
mueller_chain(const uint32_t* __restrict__ kinds, const float* __restrict__ values,
              const float* __restrict__ angles, int elements, const float* __restrict__ wavelengths,
              const float4* __restrict__ light, float4* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float wavelength = wavelengths[i];
    float4 s = light[i];
    for (int e = 0; e < elements; e++) {
        Mat4 a = rotation(-angles[e]) * mueller(kinds[e], values[e], wavelength) * rotation(angles[e]);
        float4 t;
        t.x = a.m[0][0] * s.x + a.m[0][1] * s.y + a.m[0][2] * s.z + a.m[0][3] * s.w;
        t.y = a.m[1][0] * s.x + a.m[1][1] * s.y + a.m[1][2] * s.z + a.m[1][3] * s.w;
        t.z = a.m[2][0] * s.x + a.m[2][1] * s.y + a.m[2][2] * s.z + a.m[2][3] * s.w;
        t.w = a.m[3][0] * s.x + a.m[3][1] * s.y + a.m[3][2] * s.z + a.m[3][3] * s.w;
        s = t;
    }
    to[i] = s;
}

__device__ __forceinline__ double normal_cdf(double x) {
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

extern "C" __global__ void __launch_bounds__(128)
implied_vol(const unsigned char* __restrict__ puts, const double* __restrict__ terms,
            const double* __restrict__ prices, double* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool put = puts[i];
    double forward = terms[3 * i], strike = terms[3 * i + 1], years = terms[3 * i + 2];
    double price = prices[i], result = nan("");
    double intrinsic = fmax(put ? strike - forward : forward - strike, 0.0);
    if (price > intrinsic) {
        double low = 1e-3, high = 4.0, v = 0.3;
        for (int k = 0; k < 50; k++) {
            double deviation = v * sqrt(years);
            double d1 = log(forward / strike) / deviation + 0.5 * deviation;
            double d2 = d1 - deviation;
            double value = put ? strike * normal_cdf(-d2) - forward * normal_cdf(-d1)
                               : forward * normal_cdf(d1) - strike * normal_cdf(d2);
            double vega = forward * sqrt(years) * (exp(-0.5 * d1 * d1) * 0.3989422804014327);
            double error = value - price;
            if (fabs(error) < 1e-10 * forward) {
                result = v;
                break;
            }
            if (error > 0.0) high = v;
            else low = v;
            double next = v - error / vega;
            v = low < next && next < high ? next : 0.5 * (low + high);
        }
    }
    to[i] = result;
}

extern "C" __global__ void __launch_bounds__(256)
keyframes(const uint32_t* __restrict__ starts, const float* __restrict__ times,
          const float* __restrict__ values, const float* __restrict__ slopes,
          const unsigned char* __restrict__ kinds, uint32_t tracks, float step,
          float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int frame = i / tracks, track = i % tracks;
    float time = frame * step;
    int first = starts[track], last = starts[track + 1] - 1;
    int low = first, high = last + 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (times[middle] <= time) low = middle + 1;
        else high = middle;
    }
    int next = min(max(low, first + 1), last);
    float duration = times[next] - times[next - 1];
    float at = fminf(fmaxf((time - times[next - 1]) / duration, 0.0f), 1.0f);
    float a = values[next - 1], b = values[next];
    float p = slopes[next - 1] * duration, q = slopes[next] * duration;
    float s = at, result;
    switch (kinds[track]) {
        case 0: result = a; break;
        case 1: result = a + (b - a) * at; break;
        case 2: {
            float s2 = s * s, s3 = s * s * s;
            result = (2 * s3 - 3 * s2 + 1) * a + (s3 - 2 * s2 + s) * p + (3 * s2 - 2 * s3) * b + (s3 - s2) * q;
            break;
        }
        default: {
            float x1 = kinds[track] == 3 ? 0.42f : 0.1f, x2 = kinds[track] == 3 ? 0.58f : 0.25f;
            float lo = 0.0f, hi = 1.0f;
            for (int k = 0; k < 12; k++) {
                s = 0.5f * (lo + hi);
                float r = 1.0f - s;
                float x = 3 * r * r * s * x1 + 3 * r * s * s * x2 + s * s * s;
                if (x < at) lo = s;
                else hi = s;
            }
            s = 0.5f * (lo + hi);
            float s2 = s * s, s3 = s * s * s;
            result = (2 * s3 - 3 * s2 + 1) * a + (s3 - 2 * s2 + s) * p + (3 * s2 - 2 * s3) * b + (s3 - s2) * q;
        }
    }
    to[i] = result;
}

extern "C" __global__ void __launch_bounds__(256)
rank7_3d(const uint16_t* __restrict__ from, uint16_t* __restrict__ to, int width, int height, int depth) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) return;
    auto at = [&](int x, int y, int z) { return from[(z * height + y) * width + x]; };
    uint16_t v[7] = {
        at(x, y, z),
        at(max(x - 1, 0), y, z), at(min(x + 1, width - 1), y, z),
        at(x, max(y - 1, 0), z), at(x, min(y + 1, height - 1), z),
        at(x, y, max(z - 1, 0)), at(x, y, min(z + 1, depth - 1)),
    };
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = i + 1; j < 7; j++)
            if (v[j] < v[i]) {
                uint16_t t = v[i];
                v[i] = v[j];
                v[j] = t;
            }
    to[(z * height + y) * width + x] = v[3];
}

extern "C" __global__ void __launch_bounds__(256)
darcy3d(const float* __restrict__ pressure, const float* __restrict__ permeability,
        float* __restrict__ to, int width, int height, int depth) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int layer = width * height;
    for (int z = 0; z < depth; z++) {
        int i = (z * height + y) * width + x;
        float p = pressure[i], k = permeability[i];
        auto flow = [&](int j) {
            float other = permeability[j];
            return 2.0f * k * other / (k + other) * (pressure[j] - p);
        };
        float sum = 0.0f;
        if (x > 0) sum += flow(i - 1);
        if (x + 1 < width) sum += flow(i + 1);
        if (y > 0) sum += flow(i - width);
        if (y + 1 < height) sum += flow(i + width);
        if (z > 0) sum += flow(i - layer);
        if (z + 1 < depth) sum += flow(i + layer);
        to[i] = sum;
    }
}

__device__ __forceinline__ int cube_axis(int channel, int* place) {
    int scaled = channel * 16;
    int cell = scaled / 255;
    *place = scaled % 255;
    if (cell == 16) {
        cell = 15;
        *place = 255;
    }
    return cell;
}

extern "C" __global__ void __launch_bounds__(256)
color_cube(const uchar4* __restrict__ pixels, const uchar4* __restrict__ cube,
           uchar4* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar4 pixel = pixels[i];
    int r, g, b;
    int x = cube_axis(pixel.x, &r), y = cube_axis(pixel.y, &g), z = cube_axis(pixel.z, &b);
    int corner = x + y * 17 + z * 289;
    int first, second, high, middle, low;
    if (r >= g) {
        if (g >= b) first = 1, second = 1 + 17, high = r, middle = g, low = b;
        else if (r >= b) first = 1, second = 1 + 289, high = r, middle = b, low = g;
        else first = 289, second = 289 + 1, high = b, middle = r, low = g;
    } else {
        if (r >= b) first = 17, second = 17 + 1, high = g, middle = r, low = b;
        else if (g >= b) first = 17, second = 17 + 289, high = g, middle = b, low = r;
        else first = 289, second = 289 + 17, high = b, middle = g, low = r;
    }
    uchar4 c0 = cube[corner], c1 = cube[corner + first], c2 = cube[corner + second],
           c3 = cube[corner + 307];
    int w0 = 255 - high, w1 = high - middle, w2 = middle - low, w3 = low;
    to[i] = make_uchar4((127 + w0 * c0.x + w1 * c1.x + w2 * c2.x + w3 * c3.x) / 255,
                        (127 + w0 * c0.y + w1 * c1.y + w2 * c2.y + w3 * c3.y) / 255,
                        (127 + w0 * c0.z + w1 * c1.z + w2 * c2.z + w3 * c3.z) / 255, pixel.w);
}

extern "C" __global__ void __launch_bounds__(256)
polygon_moments(const int2* __restrict__ points, const uint32_t* __restrict__ starts,
                int64_t* __restrict__ areas, int64_t* __restrict__ xs, int64_t* __restrict__ ys,
                int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int first = starts[i], last = starts[i + 1];
    int64_t area = 0, x = 0, y = 0;
    for (int k = first; k < last; k++) {
        int2 p = points[k], q = points[k + 1 < last ? k + 1 : first];
        int64_t cross = (int64_t)p.x * q.y - (int64_t)q.x * p.y;
        area += cross;
        x += ((int64_t)p.x + q.x) * cross;
        y += ((int64_t)p.y + q.y) * cross;
    }
    areas[i] = area;
    xs[i] = x;
    ys[i] = y;
}

__constant__ float ARM[6][4] = {
    {0.0f, 0.1625f, 1.0f, 0.0f},  {-0.425f, 0.0f, 0.0f, 1.0f},  {-0.3922f, 0.0f, 0.0f, 1.0f},
    {0.0f, 0.1333f, 1.0f, 0.0f},  {0.0f, 0.0997f, -1.0f, 0.0f}, {0.0f, 0.0996f, 0.0f, 1.0f},
};

extern "C" __global__ void __launch_bounds__(128)
arm_dexterity(const float* __restrict__ angles, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Mat4 frame = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    float axes[6][3], origins[6][3];
#pragma unroll
    for (int j = 0; j < 6; j++) {
        for (int k = 0; k < 3; k++) {
            axes[j][k] = frame.m[k][2];
            origins[j][k] = frame.m[k][3];
        }
        float s, c;
        sincosf(angles[6 * i + j], &s, &c);
        float a = ARM[j][0], d = ARM[j][1], st = ARM[j][2], ct = ARM[j][3];
        Mat4 next = {{{c, -s * ct, s * st, a * c}, {s, c * ct, -c * st, a * s}, {0, st, ct, d}, {0, 0, 0, 1}}};
        frame = frame * next;
    }
    float m[6][6];
#pragma unroll
    for (int j = 0; j < 6; j++) {
        float ax = frame.m[0][3] - origins[j][0];
        float ay = frame.m[1][3] - origins[j][1];
        float az = frame.m[2][3] - origins[j][2];
        m[j][0] = axes[j][1] * az - axes[j][2] * ay;
        m[j][1] = axes[j][2] * ax - axes[j][0] * az;
        m[j][2] = axes[j][0] * ay - axes[j][1] * ax;
        m[j][3] = axes[j][0];
        m[j][4] = axes[j][1];
        m[j][5] = axes[j][2];
    }
    float volume = 1.0f;
    for (int k = 0; k < 6; k++) {
        int pivot = k;
        for (int r = k + 1; r < 6; r++)
            if (fabsf(m[r][k]) > fabsf(m[pivot][k])) pivot = r;
        float top[6];
        for (int c = 0; c < 6; c++) {
            top[c] = m[pivot][c];
            m[pivot][c] = m[k][c];
        }
        if (top[k] == 0.0f) {
            volume = 0.0f;
            break;
        }
        volume *= fabsf(top[k]);
        for (int r = k + 1; r < 6; r++) {
            float factor = m[r][k] / top[k];
            for (int c = k; c < 6; c++) m[r][c] -= factor * top[c];
        }
    }
    to[i] = volume;
}

extern "C" __global__ void __launch_bounds__(256)
kendall_windows(const float* __restrict__ xs, const float* __restrict__ ys, int* __restrict__ to, int n) {
    const int W = 24;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int a = 0; a < W; a++) {
        float x = xs[i + a], y = ys[i + a];
        for (int b = a + 1; b < W; b++) {
            float product = (xs[i + b] - x) * (ys[i + b] - y);
            sum += (product > 0.0f) - (product < 0.0f);
        }
    }
    to[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
bwt_blocks(const unsigned char* __restrict__ text, unsigned char* __restrict__ to) {
    __shared__ unsigned char block[256];
    int me = threadIdx.x, start = blockIdx.x * 256;
    block[me] = text[start + me];
    __syncthreads();
    int rank = 0;
    for (int other = 0; other < 256; other++) {
        bool less = other < me;
        for (int k = 0; k < 256; k++) {
            unsigned char a = block[(other + k) % 256], b = block[(me + k) % 256];
            if (a != b) {
                less = a < b;
                break;
            }
        }
        rank += less;
    }
    to[start + rank] = block[(me + 255) % 256];
}

extern "C" __global__ void __launch_bounds__(256)
bootstrap_means(const float* __restrict__ sample, uint32_t draws, float* __restrict__ to, int n) {
    const uint64_t A = 6364136223846793005ull, C = 1442695040888963407ull;
    __shared__ float shared[512];
    for (int k = threadIdx.x; k < 512; k += 256) shared[k] = sample[k];
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        uint64_t state = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15ull * A + C;
        float sum = 0.0f;
        for (uint32_t k = 0; k < draws; k++) {
            uint64_t old = state;
            state = old * A + C;
            uint32_t mixed = ((old >> 18) ^ old) >> 27;
            uint32_t turn = old >> 59;
            uint32_t random = __funnelshift_r(mixed, mixed, turn);
            sum += shared[random % 512];
        }
        to[i] = sum / draws;
    }
}

extern "C" __global__ void __launch_bounds__(256)
triangles(const uint32_t* __restrict__ starts, const uint32_t* __restrict__ sources,
          const uint32_t* __restrict__ targets, uint32_t* __restrict__ to, int edges) {
    __shared__ uint32_t sums[8];
    uint32_t count = 0;
    for (int e = blockIdx.x * 256 + threadIdx.x; e < edges; e += gridDim.x * 256) {
        int u = sources[e], v = targets[e];
        int i = starts[u], i_end = starts[u + 1], j = starts[v], j_end = starts[v + 1];
        while (i < i_end && j < j_end) {
            uint32_t x = targets[i], y = targets[j];
            count += x == y;
            i += x <= y;
            j += y <= x;
        }
    }
    uint32_t sum = __reduce_add_sync(0xffffffffu, count);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t all = 0;
        for (int k = 0; k < 8; k++) all += sums[k];
        to[blockIdx.x] = all;
    }
}

__device__ __forceinline__ uint32_t block_count(bool predicate, uint32_t* counts, uint32_t* total) {
    uint32_t votes = __ballot_sync(0xffffffffu, predicate);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) counts[warp] = __popc(votes);
    __syncthreads();
    uint32_t before = __popc(votes & ((1u << lane) - 1));
    *total = 0;
    for (int k = 0; k < 8; k++) {
        if (k < warp) before += counts[k];
        *total += counts[k];
    }
    return before;
}

extern "C" __global__ void __launch_bounds__(256)
csv_fields(const unsigned char* __restrict__ text, const uint32_t* __restrict__ starts,
           uint32_t* __restrict__ ends, uint32_t* __restrict__ counts) {
    __shared__ uint32_t shared[2][8];
    int first = starts[blockIdx.x], length = starts[blockIdx.x + 1] - first;
    uint32_t fields = 0, quoted = 0;
    for (int chunk = 0; chunk < length; chunk += 256) {
        int at = chunk + threadIdx.x;
        unsigned char byte = at < length ? text[first + at] : 0;
        uint32_t total;
        uint32_t before = block_count(byte == '"', shared[0], &total);
        bool inside = (quoted + before) & 1;
        bool is_end = !inside && (byte == ',' || byte == '\n');
        quoted += total;
        uint32_t place = block_count(is_end, shared[1], &total);
        if (is_end) ends[first + fields + place] = at;
        fields += total;
    }
    if (threadIdx.x == 0) counts[blockIdx.x] = fields;
}

extern "C" __global__ void __launch_bounds__(256)
kaplan_meier(const unsigned char* __restrict__ events, const double* __restrict__ weights,
             double* __restrict__ to, int length) {
    __shared__ double products[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t start = (size_t)blockIdx.x * length;
    double survival = 1.0;
    for (int chunk = 0; chunk < length; chunk += 256) {
        int i = chunk + threadIdx.x;
        double factor = 1.0;
        if (i < length && events[start + i]) factor = 1.0 - weights[start + i] / (length - i);
        double scan = factor;
        for (int d = 1; d < 32; d *= 2) {
            double other = __shfl_up_sync(0xffffffffu, scan, d);
            if (lane >= d) scan *= other;
        }
        if (lane == 31) products[warp] = scan;
        __syncthreads();
        double before = 1.0, all = 1.0;
        for (int k = 0; k < 8; k++) {
            if (k < warp) before *= products[k];
            all *= products[k];
        }
        if (i < length) to[start + i] = survival * before * scan;
        survival *= all;
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(256)
squeeze_excite(const __half* __restrict__ images, const float* __restrict__ squeeze,
               const float* __restrict__ excite, __half* __restrict__ to) {
    const int CHANNELS = 64, PLANE = 196, SQUEEZED = 16;
    __shared__ float means[CHANNELS], hidden[SQUEEZED], gates[CHANNELS];
    int me = threadIdx.x, lane = me % 32;
    size_t start = (size_t)blockIdx.x * CHANNELS * PLANE;
    const __half* image = images + start;
    for (int channel = me / 32; channel < CHANNELS; channel += 8) {
        float sum = 0.0f;
        for (int i = lane; i < PLANE; i += 32) sum += __half2float(image[channel * PLANE + i]);
        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (lane == 0) means[channel] = sum / PLANE;
    }
    __syncthreads();
    if (me < SQUEEZED) {
        float sum = 0.0f;
        for (int c = 0; c < CHANNELS; c++) sum += squeeze[me * CHANNELS + c] * means[c];
        hidden[me] = fmaxf(sum, 0.0f);
    }
    __syncthreads();
    if (me < CHANNELS) {
        float sum = 0.0f;
        for (int k = 0; k < SQUEEZED; k++) sum += excite[me * SQUEEZED + k] * hidden[k];
        gates[me] = 1.0f / (1.0f + expf(-sum));
    }
    __syncthreads();
    for (int i = me; i < CHANNELS * PLANE; i += 256)
        to[start + i] = __float2half(__half2float(image[i]) * gates[i / PLANE]);
}

extern "C" __global__ void __launch_bounds__(256)
gated_dilated(const float* __restrict__ audio, const float* __restrict__ filter,
              const float* __restrict__ gate, float* __restrict__ to, int n) {
    const int TAPS = 32, DILATION = 4, HALO = (TAPS - 1) * DILATION;
    __shared__ float shared[256 + HALO];
    int me = threadIdx.x, start = blockIdx.x * 256;
    for (int i = me; i < 256 + HALO; i += 256) {
        int at = start + i - HALO;
        shared[i] = at >= 0 && at < n ? audio[at] : 0.0f;
    }
    __syncthreads();
    if (start + me < n) {
        float signal = 0.0f, open = 0.0f;
#pragma unroll
        for (int k = 0; k < TAPS; k++) {
            float x = shared[me + k * DILATION];
            signal += filter[k] * x;
            open += gate[k] * x;
        }
        to[start + me] = tanhf(signal) / (1.0f + expf(-open));
    }
}

extern "C" __global__ void __launch_bounds__(256)
seam_costs(const uint16_t* __restrict__ energies, size_t height, uint32_t* __restrict__ to) {
    __shared__ uint32_t above[256];
    int x = threadIdx.x;
    const uint16_t* image = energies + (size_t)blockIdx.x * 256 * height;
    uint32_t cost = 0;
    for (int y = 0; y < (int)height; y++) {
        above[x] = cost;
        __syncthreads();
        if (x > 0) cost = min(cost, above[x - 1]);
        if (x < 255) cost = min(cost, above[x + 1]);
        cost += image[y * 256 + x];
        __syncthreads();
    }
    to[blockIdx.x * 256 + x] = cost;
}

__device__ __forceinline__ uint64_t red61(uint64_t x) {
    const uint64_t P = (1ull << 61) - 1;
    return x >= P ? x - P : x;
}
__device__ __forceinline__ uint64_t add61(uint64_t a, uint64_t b) { return red61(a + b); }
__device__ __forceinline__ uint64_t sub61(uint64_t a, uint64_t b) {
    return red61(a + ((1ull << 61) - 1) - b);
}
__device__ __forceinline__ uint64_t mul61(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return red61(((uint64_t)product & ((1ull << 61) - 1)) + (uint64_t)(product >> 61));
}

extern "C" __global__ void __launch_bounds__(256)
curve_ladder(const uint64_t* __restrict__ xs, const uint64_t* __restrict__ scalars,
             uint64_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t x = xs[i], scalar = scalars[i];
    uint64_t x2 = 1, z2 = 0, x3 = x, z3 = 1, t;
    for (int bit = 63; bit >= 0; bit--) {
        bool one = scalar >> bit & 1;
        if (one) {
            t = x2, x2 = x3, x3 = t;
            t = z2, z2 = z3, z3 = t;
        }
        uint64_t a = add61(x2, z2), b = sub61(x2, z2), c = add61(x3, z3), d = sub61(x3, z3);
        uint64_t aa = mul61(a, a), bb = mul61(b, b);
        uint64_t e = sub61(aa, bb), da = mul61(d, a), cb = mul61(c, b);
        x2 = mul61(aa, bb);
        z2 = mul61(e, add61(aa, mul61(307, e)));
        uint64_t s = add61(da, cb), u = sub61(da, cb);
        x3 = mul61(s, s);
        z3 = mul61(x, mul61(u, u));
        if (one) {
            t = x2, x2 = x3, x3 = t;
            t = z2, z2 = z3, z3 = t;
        }
    }
    uint64_t power = 1, exponent = (1ull << 61) - 3;
    for (int bit = 60; bit >= 0; bit--) {
        power = mul61(power, power);
        if (exponent >> bit & 1) power = mul61(power, z2);
    }
    to[i] = mul61(x2, power);
}

extern "C" __global__ void __launch_bounds__(256)
swiss_lookup(const unsigned char* __restrict__ control, const uint64_t* __restrict__ keys,
             const uint32_t* __restrict__ values, uint32_t groups,
             const uint64_t* __restrict__ queries, uint32_t* __restrict__ to, int n) {
    int number = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
    if (number >= n) return;
    int lane = threadIdx.x % 16, shift = threadIdx.x & 16;
    unsigned mask = 0xffffu << shift;
    uint64_t key = queries[number];
    uint64_t hash = (key ^ key >> 32) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
    unsigned char tag = hash & 0x7f;
    uint32_t at = (uint32_t)(hash >> 7) & (groups - 1);
    uint32_t value = 0xffffffffu;
    while (true) {
        int slot = at * 16 + lane;
        unsigned char c = control[slot];
        bool found = c == tag && keys[slot] == key;
        unsigned votes = __ballot_sync(mask, found) >> shift;
        if (votes) {
            value = values[at * 16 + __ffs(votes) - 1];
            break;
        }
        if (__any_sync(mask, c == 0x80)) break;
        at = (at + 1) & (groups - 1);
    }
    if (lane == 0) to[number] = value;
}

extern "C" __global__ void __launch_bounds__(64)
auction(const uint16_t* __restrict__ benefits, uint32_t step, uint32_t* __restrict__ to) {
    const int PERSONS = 64;
    __shared__ int prices[PERSONS];
    __shared__ uint32_t owners[PERSONS], bids[PERSONS];
    int me = threadIdx.x;
    int start = blockIdx.x * PERSONS;
    benefits += (size_t)start * PERSONS;
    prices[me] = 0;
    owners[me] = 0xffffffffu;
    bids[me] = 0;
    __syncthreads();
    int object = 0;
    bool assigned = false;
    while (true) {
        if (!assigned) {
            int first = INT32_MIN, second = INT32_MIN;
            for (int j = 0; j < PERSONS; j++) {
                int worth = benefits[j * PERSONS + me] - prices[j];
                if (worth > first) {
                    second = first;
                    first = worth;
                    object = j;
                } else {
                    second = max(second, worth);
                }
            }
            uint32_t bid = prices[object] + (first - second) + step;
            atomicMax(&bids[object], bid << 6 | me);
        }
        __syncthreads();
        uint32_t bid = bids[me];
        if (bid) {
            prices[me] = bid >> 6;
            owners[me] = bid % 64;
            bids[me] = 0;
        }
        __syncthreads();
        assigned = owners[object] == me;
        if (__syncthreads_and(assigned)) break;
    }
    to[start + me] = object;
}

extern "C" __global__ void __launch_bounds__(256)
felsenstein(const uint32_t* __restrict__ visits, int count, const float* __restrict__ matrices,
            int rates, const unsigned char* __restrict__ letters, float* __restrict__ to,
            int sites) {
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites) return;
    float likelihood = 0.0f;
    for (int rate = 0; rate < rates; rate++) {
        float4 stack[8];
        int len = 0;
        for (int k = 0; k < count; k++) {
            uint32_t visit = visits[k];
            const float* m = matrices + (rate * count + k) * 16;
            float4 s;
            if (visit == 0xffffffffu) {
                len -= 2;
                float4 a = stack[len], b = stack[len + 1];
                s = make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
            } else {
                int letter = letters[visit * sites + site];
                s = letter < 4 ? make_float4(letter == 0, letter == 1, letter == 2, letter == 3)
                               : make_float4(1, 1, 1, 1);
            }
            stack[len++] = make_float4(m[0] * s.x + m[1] * s.y + m[2] * s.z + m[3] * s.w,
                                       m[4] * s.x + m[5] * s.y + m[6] * s.z + m[7] * s.w,
                                       m[8] * s.x + m[9] * s.y + m[10] * s.z + m[11] * s.w,
                                       m[12] * s.x + m[13] * s.y + m[14] * s.z + m[15] * s.w);
        }
        likelihood += (stack[0].x + stack[0].y + stack[0].z + stack[0].w) * 0.25f;
    }
    to[site] = logf(likelihood / rates);
}

extern "C" __global__ void __launch_bounds__(256)
worley_tiles(const float2* __restrict__ sites, int count, float* __restrict__ to, int width,
             int height) {
    __shared__ float2 shared[256];
    int px = blockIdx.x * 16 + threadIdx.x, py = blockIdx.y * 16 + threadIdx.y;
    float x = px, y = py;
    int me = threadIdx.y * 16 + threadIdx.x;
    float first = INFINITY, second = INFINITY;
    for (int start = 0; start < count; start += 256) {
        if (start + me < count) shared[me] = sites[start + me];
        __syncthreads();
        int end = min(count - start, 256);
        for (int k = 0; k < end; k++) {
            float dx = shared[k].x - x, dy = shared[k].y - y;
            float distance = dx * dx + dy * dy;
            second = fminf(second, fmaxf(first, distance));
            first = fminf(first, distance);
        }
        __syncthreads();
    }
    if (px < width && py < height) to[py * width + px] = sqrtf(second) - sqrtf(first);
}

extern "C" __global__ void __launch_bounds__(256)
maze_flood(const uint32_t* __restrict__ rows, uint32_t* __restrict__ to, int n) {
    const unsigned FULL = 0xffffffffu;
    int maze = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (maze >= n) return;
    int lane = threadIdx.x % 32;
    uint32_t open = rows[maze * 32 + lane];
    uint32_t reached = lane == 0 ? open & 1 : 0;
    uint32_t steps = 0;
    while (!(__shfl_sync(FULL, reached, 31) >> 31)) {
        uint32_t above = __shfl_up_sync(FULL, reached, 1);
        uint32_t below = __shfl_down_sync(FULL, reached, 1);
        uint32_t next = (reached | reached << 1 | reached >> 1 | above | below) & open;
        if (!__any_sync(FULL, next != reached)) {
            steps = 0xffffffffu;
            break;
        }
        reached = next;
        steps++;
    }
    if (lane == 0) to[maze] = steps;
}

extern "C" __global__ void __launch_bounds__(128)
huffman_streams(const unsigned char* __restrict__ bytes, const uint32_t* __restrict__ starts,
                const uchar2* __restrict__ table, unsigned char* __restrict__ to, int width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = starts[i], end = starts[i + 1];
    uint32_t buffer = 0;
    int count = 0;
    for (int k = 0; k < width; k++) {
        while (count < 9) {
            uint32_t byte = at < end ? bytes[at++] : 0;
            buffer = buffer << 8 | byte;
            count += 8;
        }
        uchar2 code = table[(buffer >> (count - 9)) & 511];
        count -= code.y;
        to[i * width + k] = code.x;
    }
}

extern "C" __global__ void __launch_bounds__(256)
sat_overlap(const float2* __restrict__ a, const float2* __restrict__ b, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p[2][6];
#pragma unroll
    for (int k = 0; k < 6; k++) {
        p[0][k] = a[6 * i + k];
        p[1][k] = b[6 * i + k];
    }
    float least = INFINITY;
    bool separate = false;
#pragma unroll
    for (int axis = 0; axis < 12; axis++) {
        if (separate) break;
        float2 u = p[axis / 6][axis % 6], v = p[axis / 6][(axis % 6 + 1) % 6];
        float ex = v.x - u.x, ey = v.y - u.y;
        float length = sqrtf(ex * ex + ey * ey);
        float nx = ey / length, ny = -ex / length;
        float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
#pragma unroll
        for (int q = 0; q < 2; q++)
#pragma unroll
            for (int c = 0; c < 6; c++) {
                float x = p[q][c].x * nx + p[q][c].y * ny;
                low[q] = fminf(low[q], x);
                high[q] = fmaxf(high[q], x);
            }
        float depth = fminf(high[0], high[1]) - fmaxf(low[0], low[1]);
        if (!(depth > 0.0f)) separate = true;
        least = fminf(least, depth);
    }
    to[i] = separate ? 0.0f : least;
}
